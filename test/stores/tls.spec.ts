import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { committed, PARTITION, put, Recorder } from '../../src/stores/contract/harness.js';
import { createStateStore } from '../../src/stores/create-state-store.js';
import { type StateStore } from '../../src/stores/state-store.interface.js';
import { SystemClock } from '../../src/common/system-clock.js';
import { Certificates } from '../support/engines/certificates.js';
import { EtcdCluster } from '../support/engines/etcd-server.js';
import { freePorts } from '../support/engines/free-ports.js';
import { RedisServer } from '../support/engines/redis-server.js';

describe('TLS from the url', () => {
  let tls: Certificates;
  beforeAll(() => void (tls = new Certificates()));
  afterAll(() => tls.destroy());

  async function open(url: string): Promise<StateStore> {
    const store = await createStateStore(url, 'tls/', new SystemClock());
    onTestFinished(() => store.close());
    await store.open();
    return store;
  }

  async function works(store: StateStore): Promise<void> {
    const watch = new Recorder(store, (await store.list(PARTITION)).cursor);
    await watch.reaches(await committed(store, put('a', 'absent')));
  }

  it('reaches a Redis that asks for a certificate', async () => {
    const [port] = await freePorts(1);
    const files = ['--tls-ca-cert-file', tls.ca, '--tls-cert-file', tls.cert, '--tls-key-file', tls.key];
    const redis = await RedisServer.start(['--tls-port', `${port}`, ...files]);
    onTestFinished(() => redis.destroy());
    await works(await open(`rediss://127.0.0.1:${port}?${tls.query}`));
    await expect(open(`rediss://127.0.0.1:${port}`)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it('reaches an etcd that asks for a certificate', async () => {
    const [port] = await freePorts(1);
    const secure = `https://127.0.0.1:${port}`;
    const etcd = await EtcdCluster.start(1, [
      `--trusted-ca-file=${tls.ca}`,
      `--cert-file=${tls.cert}`,
      `--key-file=${tls.key}`,
      '--client-cert-auth',
      `--listen-client-urls=http://127.0.0.1:PORT,${secure}`,
    ]);
    onTestFinished(() => etcd.destroy());
    await works(await open(`etcd://127.0.0.1:${port}?tls=1&${tls.query}`));
    await expect(open(`etcd://127.0.0.1:${port}?tls=1&timeout_ms=500`)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
  });

  it('names a file that cannot be read', async () => {
    await expect(open('rediss://127.0.0.1:1?ca=/no/such.pem')).rejects.toThrow('/no/such.pem');
    await expect(open('etcd://127.0.0.1:1?tls=1&ca=/no/such.pem')).rejects.toThrow('/no/such.pem');
  });
});
