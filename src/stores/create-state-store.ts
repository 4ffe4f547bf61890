import { type Clock } from '../common/clock.interface.js';
import { etcdSettings, isEtcdUrl } from './etcd/etcd-settings.js';
import { LmdbStateStore } from './lmdb/lmdb-state-store.js';
import { MemoryStateStore } from './memory/memory-state-store.js';
import { isRedisUrl, redisSettings } from './redis/redis-settings.js';
import { type StateStore } from './state-store.interface.js';
import { StoreError } from './store.error.js';
import { STORE_URL_FORMS, withoutPassword } from './store-url.js';

/** The engine a `STORE_URL` names, not yet open. The libraries of outside engines are loaded only for who uses them. */
export async function createStateStore(url: string, keyPrefix: string, clock: Clock): Promise<StateStore> {
  if (url === 'memory:') return new MemoryStateStore(clock);
  if (url.startsWith('file:')) return new LmdbStateStore(url.slice('file:'.length), clock);
  if (isRedisUrl(url)) {
    const { RedisStateStore } = await import('./redis/redis-state-store.js');
    return new RedisStateStore(redisSettings(url), keyPrefix);
  }
  if (isEtcdUrl(url)) {
    const { EtcdStateStore } = await import('./etcd/etcd-state-store.js');
    return new EtcdStateStore(etcdSettings(url), keyPrefix, clock);
  }
  const message = `STORE_URL is ${withoutPassword(url)}; it must be ${STORE_URL_FORMS}.`;
  throw new StoreError('STORE_UNAVAILABLE', 'open', message);
}
