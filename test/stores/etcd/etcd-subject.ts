import { SystemClock } from '../../../src/common/system-clock.js';
import { EtcdStateStore } from '../../../src/stores/etcd/etcd-state-store.js';
import { etcdSettings } from '../../../src/stores/etcd/etcd-settings.js';
import { EtcdCluster } from '../../support/engines/etcd-server.js';
import { endWithTest } from '../engine-subject.js';

/** Short, so that tests of it are; long enough for a busy machine. */
export const TIMEOUT_MS = 1500;

export async function startEtcd(size = 1, ...args: string[]): Promise<EtcdCluster> {
  const cluster = await EtcdCluster.start(size, args);
  endWithTest(() => cluster.destroy());
  return cluster;
}

/** `at`: a port of this machine, or a whole url. */
export async function openEtcd(at: number | string, prefix = 'test/'): Promise<EtcdStateStore> {
  const url = typeof at === 'number' ? `etcd://127.0.0.1:${at}` : at;
  const store = new EtcdStateStore(
    { ...etcdSettings(url), timeoutMs: TIMEOUT_MS },
    prefix,
    new SystemClock(),
  );
  endWithTest(() => store.close());
  await store.open();
  return store;
}
