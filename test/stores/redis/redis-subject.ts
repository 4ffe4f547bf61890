import { type RedisSettings, redisSettings } from '../../../src/stores/redis/redis-settings.js';
import { RedisStateStore } from '../../../src/stores/redis/redis-state-store.js';
import { RedisServer } from '../../support/engines/redis-server.js';
import { endWithTest } from '../engine-subject.js';

/** Short, so that tests of it are; long enough for a busy machine. */
export const TIMEOUT_MS = 1000;

export async function startRedis(...args: string[]): Promise<RedisServer> {
  const server = await RedisServer.start(args);
  endWithTest(() => server.destroy());
  return server;
}

/** `at`: a port of this machine, or a whole url. */
export async function openRedis(
  at: number | string,
  settings: Partial<RedisSettings> = {},
): Promise<RedisStateStore> {
  const url = typeof at === 'number' ? `redis://127.0.0.1:${at}` : at;
  const store = new RedisStateStore({ ...redisSettings(url), timeoutMs: TIMEOUT_MS, ...settings }, 'test/');
  endWithTest(() => store.close());
  await store.open();
  return store;
}
