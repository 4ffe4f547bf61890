import { afterEach } from 'vitest';
import { SystemClock } from '../../../src/common/system-clock.js';
import { EtcdStateStore } from '../../../src/stores/etcd/etcd-state-store.js';
import { etcdSettings } from '../../../src/stores/etcd/etcd-settings.js';
import { EngineProxy } from '../../support/engines/engine-proxy.js';
import { EtcdCluster } from '../../support/engines/etcd-server.js';

/** Short, so that tests of it are; long enough for a busy machine. */
export const TIMEOUT_MS = 1500;

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

export async function startEtcd(size = 1, ...args: string[]): Promise<EtcdCluster> {
  const cluster = await EtcdCluster.start(size, args);
  cleanUps.push(() => cluster.destroy());
  return cluster;
}

export async function startProxy(target: number): Promise<EngineProxy> {
  const proxy = await EngineProxy.start(target);
  cleanUps.push(() => proxy.close());
  return proxy;
}

/** `at`: a port of this machine, or a whole url. */
export async function openEtcd(at: number | string, prefix = 'test/'): Promise<EtcdStateStore> {
  const url = typeof at === 'number' ? `etcd://127.0.0.1:${at}` : at;
  const store = new EtcdStateStore(
    { ...etcdSettings(url), timeoutMs: TIMEOUT_MS },
    prefix,
    new SystemClock(),
  );
  cleanUps.push(() => store.close());
  await store.open();
  return store;
}
