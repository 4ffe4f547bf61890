import { afterEach } from 'vitest';
import { type RedisSettings, redisSettings } from '../../../src/stores/redis/redis-settings.js';
import { RedisStateStore } from '../../../src/stores/redis/redis-state-store.js';
import { EngineProxy } from '../../support/engines/engine-proxy.js';
import { RedisServer } from '../../support/engines/redis-server.js';

/** Short, so that tests of it are; long enough for a busy machine. */
export const TIMEOUT_MS = 1000;

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

export async function startRedis(...args: string[]): Promise<RedisServer> {
  const server = await RedisServer.start(args);
  cleanUps.push(() => server.destroy());
  return server;
}

export async function startProxy(target: number): Promise<EngineProxy> {
  const proxy = await EngineProxy.start(target);
  cleanUps.push(() => proxy.close());
  return proxy;
}

/** `at`: a port of this machine, or a whole url. */
export async function openRedis(
  at: number | string,
  settings: Partial<RedisSettings> = {},
): Promise<RedisStateStore> {
  const url = typeof at === 'number' ? `redis://127.0.0.1:${at}` : at;
  const store = new RedisStateStore({ ...redisSettings(url), timeoutMs: TIMEOUT_MS, ...settings }, 'test/');
  cleanUps.push(() => store.close());
  await store.open();
  return store;
}
