import { Etcd3 } from 'etcd3';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  committed,
  getOne,
  listAll,
  PARTITION,
  put,
  Recorder,
} from '../../../src/stores/contract/harness.js';
import { eventually } from '../eventually.js';
import { openEtcd, startEtcd } from './etcd-subject.js';

function client(port: number): Etcd3 {
  const etcd = new Etcd3({ hosts: `http://127.0.0.1:${port}` });
  onTestFinished(() => etcd.close());
  return etcd;
}

describe('EtcdStateStore, what it finds in etcd', () => {
  it('makes commits that come together in one transaction, each judged alone', async () => {
    const etcd = await startEtcd();
    const store = await openEtcd(etcd.port());
    const before = await committed(store, put('taken', 'absent'));
    const outcomes = await Promise.all(
      store.commitMany(
        ['a', 'taken', 'b'].map((key) => ({ partition: PARTITION, writes: [put(key, 'absent')] })),
      ),
    );
    const revision = before + 1;
    expect(outcomes).toEqual([
      { status: 'committed', revision },
      { status: 'conflict' },
      { status: 'committed', revision },
    ]);
    expect(await store.get(PARTITION, ['a', 'b'])).toMatchObject([{ revision }, { revision }]);
  });

  it('gives out revisions above the wall clock at its creation, the same for every instance', async () => {
    const etcd = await startEtcd();
    const before = Date.now() * 1000;
    const stores = await Promise.all([openEtcd(etcd.port()), openEtcd(etcd.port())]);
    const revision = await committed(stores[0], put('a', 'absent'));
    expect(revision).toBeGreaterThan(before);
    expect(await getOne(stores[1], 'a')).toMatchObject({ revision });
  });

  it('does not open what another version wrote', async () => {
    const etcd = await startEtcd();
    await client(etcd.port()).put('test/state').value('{"format":2,"base":1}');
    await expect(openEtcd(etcd.port())).rejects.toMatchObject({
      code: 'STORE_UNREADABLE',
      message: expect.stringContaining('format 2'),
    });
  });

  it('does not open items that do not say how they were written', async () => {
    const etcd = await startEtcd();
    await client(etcd.port()).put('test/items/a').value('?');
    await expect(openEtcd(etcd.port())).rejects.toMatchObject({ code: 'STORE_UNREADABLE' });
  });

  it('neither reads nor writes a state that is not the one it opened, and tells its watchers to list', async () => {
    const etcd = await startEtcd();
    const store = await openEtcd(etcd.port());
    const old = await committed(store, put('a', 'absent'));
    const watch = new Recorder(store, old);
    await etcd.stop();
    etcd.wipe();
    await etcd.run();
    const successor = await eventually(() => openEtcd(etcd.port()));
    const unreadable = { code: 'STORE_UNREADABLE', message: expect.stringContaining('Restart') };
    await eventually(() => expect(store.get(PARTITION, ['a'])).rejects.toMatchObject(unreadable));
    await expect(store.commit(PARTITION, [put('a', 'absent')])).rejects.toMatchObject(unreadable);
    await expect(store.list(PARTITION)).rejects.toMatchObject(unreadable);
    await watch.until(() => watch.isCompacted);
    expect(await getOne(successor, 'a')).toBeUndefined();
    expect(await committed(successor, put('a', 'absent'))).toBeGreaterThan(old);
  });

  it('keeps installations with different prefixes apart', async () => {
    const etcd = await startEtcd();
    const [one, two] = [await openEtcd(etcd.port(), 'one/'), await openEtcd(etcd.port(), 'two/')];
    const watch = new Recorder(two, (await two.list(PARTITION)).cursor);
    await committed(one, put('a', 'absent'));
    expect(await getOne(two, 'a')).toBeUndefined();
    const own = await committed(two, put('b', 'absent'));
    await watch.reaches(own);
    expect(watch.changes.map(({ key }) => key)).toEqual(['b']);
    expect((await listAll(two)).items).toHaveLength(1);
  });

  it('shows more keys than one transaction reads as of one moment', async () => {
    const etcd = await startEtcd();
    const store = await openEtcd(etcd.port());
    const keys = Array.from({ length: 200 }, (_, n) => `k${n}`);
    let revision = await committed(store, put(keys[0]!, 'absent'), put(keys[199]!, 'absent'));
    let running = true;
    const writing = (async () => {
      while (running) revision = await committed(store, put(keys[0]!, revision), put(keys[199]!, revision));
    })();
    for (let round = 0; round < 20; round++) {
      const items = await store.get(PARTITION, keys);
      expect(items[199]?.revision).toBe(items[0]?.revision);
    }
    running = false;
    await writing;
  });

  it('speaks for a user with a password', async () => {
    const etcd = await startEtcd();
    const admin = client(etcd.port());
    await admin.auth.userAdd({ name: 'root', password: 'secret' } as never);
    await admin.auth.roleAdd({ name: 'root' });
    await admin.auth.userGrantRole({ user: 'root', role: 'root' });
    await admin.auth.authEnable();
    const store = await openEtcd(`etcd://root:secret@127.0.0.1:${etcd.port()}`);
    const watch = new Recorder(store, (await store.list(PARTITION)).cursor);
    await watch.reaches(await committed(store, put('a', 'absent')));
    await expect(openEtcd(`etcd://root:wrong@127.0.0.1:${etcd.port()}`)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('authentication failed'),
    });
    await expect(openEtcd(etcd.port())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});
