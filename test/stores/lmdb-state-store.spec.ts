import { rmSync } from 'node:fs';
import { describe, it } from 'vitest';
import { SystemClock } from '../../src/common/system-clock.js';
import { LmdbStateStore } from '../../src/stores/lmdb/lmdb-state-store.js';
import { stateStoreContract } from '../../src/stores/state-store.contract.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

describe('LmdbStateStore', () => {
  stateStoreContract({ describe, it }, async () => {
    const directory = temporaryDirectory();
    let store = new LmdbStateStore(directory, new SystemClock());
    await store.open();
    const reopen = async () => {
      await store.close();
      store = new LmdbStateStore(directory, new SystemClock());
      await store.open();
      return store;
    };
    const destroy = async () => {
      await store.close();
      rmSync(directory, { recursive: true });
    };
    return { store, reopen, destroy };
  });
});
