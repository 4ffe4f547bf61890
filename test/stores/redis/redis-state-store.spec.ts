import { afterAll, beforeAll, describe, it } from 'vitest';
import { RedisStateStore } from '../../../src/stores/redis/redis-state-store.js';
import { redisSettings } from '../../../src/stores/redis/redis-settings.js';
import { stateStoreContract } from '../../../src/stores/state-store.contract.js';
import { RedisServer } from '../../support/engines/redis-server.js';

describe('RedisStateStore', () => {
  let server: RedisServer;
  let prefixes = 0;
  beforeAll(async () => (server = await RedisServer.start()));
  afterAll(() => server.destroy());

  stateStoreContract({ describe, it }, async () => {
    const prefix = `contract${prefixes++}/`;
    const open = async () => {
      const opened = new RedisStateStore(redisSettings(server.url), prefix);
      await opened.open();
      return opened;
    };
    let store = await open();
    const reopen = async () => {
      await store.close();
      store = await open();
      return store;
    };
    return { store, reopen, destroy: () => store.close() };
  });
});
