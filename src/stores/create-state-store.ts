import { type Clock } from '../common/clock.interface.js';
import { LmdbStateStore } from './lmdb/lmdb-state-store.js';
import { MemoryStateStore } from './memory/memory-state-store.js';
import { type StateStore } from './state-store.interface.js';
import { StoreError } from './store.error.js';

/** The engine a `STORE_URL` names, not yet open. */
export function createStateStore(url: string, clock: Clock): StateStore {
  if (url === 'memory:') return new MemoryStateStore(clock);
  if (url.startsWith('file:')) return new LmdbStateStore(url.slice('file:'.length), clock);
  throw new StoreError(
    'STORE_UNAVAILABLE',
    'open',
    `This version of Holdfast has no engine for STORE_URL=${url}`,
  );
}
