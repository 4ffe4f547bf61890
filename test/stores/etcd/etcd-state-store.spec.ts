import { afterAll, beforeAll, describe, it } from 'vitest';
import { SystemClock } from '../../../src/common/system-clock.js';
import { EtcdStateStore } from '../../../src/stores/etcd/etcd-state-store.js';
import { etcdSettings } from '../../../src/stores/etcd/etcd-settings.js';
import { stateStoreContract } from '../../../src/stores/state-store.contract.js';
import { EtcdCluster } from '../../support/engines/etcd-server.js';

describe('EtcdStateStore', () => {
  let cluster: EtcdCluster;
  let prefixes = 0;
  beforeAll(async () => (cluster = await EtcdCluster.start()));
  afterAll(() => cluster.destroy());

  stateStoreContract({ describe, it }, async () => {
    const prefix = `contract${prefixes++}/`;
    const open = async () => {
      const opened = new EtcdStateStore(etcdSettings(cluster.url), prefix, new SystemClock());
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
