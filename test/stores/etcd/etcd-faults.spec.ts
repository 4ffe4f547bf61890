import { setTimeout as delay } from 'node:timers/promises';
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
import { type StateStore } from '../../../src/stores/state-store.interface.js';
import { startProxy } from '../engine-subject.js';
import { eventually, timed } from '../eventually.js';
import { expectUnknownOnce } from '../lost-answer.js';
import { openEtcd, startEtcd, TIMEOUT_MS } from './etcd-subject.js';

/** The scheduler's share, on a machine that does other things too. */
const SLACK_MS = 1500;

describe('EtcdStateStore, when etcd or the way to it fails', () => {
  it('says unknown when the answer of a commit is lost, and does not send it again', async () => {
    const etcd = await startEtcd();
    const proxy = await startProxy(etcd.port());
    const store = await openEtcd(proxy.port);
    const witness = await openEtcd(etcd.port());
    await expectUnknownOnce(store, proxy, witness);
  });

  it('rejects a commit that cannot be sent', async () => {
    const etcd = await startEtcd();
    const store = await openEtcd(etcd.port());
    await committed(store, put('a', 'absent'));
    await etcd.stop();
    await eventually(async () => {
      const { error, tookMs } = await timed(store.commit(PARTITION, [put('b', 'absent')]));
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect(tookMs).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    });
    await etcd.run();
    await eventually(() => getOne(store, 'a'));
    expect(await getOne(store, 'b')).toBeUndefined();
  });

  it('answers within its time while etcd hangs, and goes on when it is back', async () => {
    const etcd = await startEtcd();
    const store = await openEtcd(etcd.port());
    const first = await committed(store, put('a', 'absent', 'one'));
    etcd.signal('SIGSTOP');
    const [read, write] = await Promise.all([
      timed(getOne(store, 'a')),
      timed(store.commit(PARTITION, [put('a', first, 'two')])),
    ]);
    expect(read.error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(write.value).toMatchObject({ status: 'unknown' });
    expect(Math.max(read.tookMs, write.tookMs)).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    const opening = await timed(openEtcd(etcd.port()));
    expect(opening.error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(opening.tookMs).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    etcd.signal('SIGCONT');
    await eventually(() => getOne(store, 'a'));
    expect(['one', 'two']).toContain((await getOne(store, 'a'))?.value);
  });

  it('keeps everything over a kill and a restart, without being opened again', async () => {
    const etcd = await startEtcd();
    const store = await openEtcd(etcd.port());
    const revision = await committed(store, put('a', 'absent', 'kept'));
    const watch = new Recorder(store, revision);
    await etcd.stop(0, 'SIGKILL');
    await etcd.run();
    await eventually(async () =>
      expect(await getOne(store, 'a')).toEqual({ key: 'a', revision, value: 'kept' }),
    );
    const next = await committed(store, put('a', revision));
    expect(next).toBeGreaterThan(revision);
    await watch.reaches(next);
    expect(watch.changes.map((change) => change.revision)).toEqual([next]);
  });

  it('goes on with any two of three members, one of them killed or stopped, and so does its watch', async () => {
    const etcd = await startEtcd(3);
    const store = await openEtcd(etcd.url);
    const watch = new Recorder(store, (await store.list(PARTITION)).cursor);
    await committed(store, put('start', 'absent'));
    for (const [member, signal] of [
      [0, 'SIGKILL'],
      [1, 'SIGSTOP'],
      [2, 'SIGSTOP'],
    ] as const) {
      if (signal === 'SIGKILL') await etcd.stop(member, signal);
      else etcd.signal(signal, member);
      const revision = await eventually(() =>
        committed(store, put(`k${member}`, 'absent')).catch(() => revisionOf(store, `k${member}`)),
      );
      await watch.reaches(revision);
      if (signal === 'SIGKILL') await etcd.run(member);
      else etcd.signal('SIGCONT', member);
    }
    const shown = watch.changes.map(({ revision }) => revision);
    expect(shown).toEqual([...new Set(shown)].sort((a, b) => a - b));
    expect(watch.changes.map(({ key }) => key)).toEqual(['start', 'k0', 'k1', 'k2']);
  });

  it('shows every change once and in order while the connections of the watch break again and again', async () => {
    const etcd = await startEtcd();
    const proxy = await startProxy(etcd.port());
    const writer = await openEtcd(etcd.port());
    const reader = await openEtcd(proxy.port);
    const watch = new Recorder(reader, (await reader.list(PARTITION)).cursor);
    const made = [await committed(writer, put('busy', 'absent'))];
    for (let round = 0; round < 12; round++) {
      for (let n = 0; n < 5; n++) made.push(await committed(writer, put('busy', made.at(-1)!)));
      await delay(50);
      proxy.mode = round % 3 === 0 ? 'mute' : 'pass';
      proxy.cut();
    }
    proxy.mode = 'pass';
    proxy.cut();
    made.push(await committed(writer, put('busy', made.at(-1)!)));
    await watch.reaches(made.at(-1)!);
    expect(watch.changes.map(({ revision }) => revision)).toEqual(made);
  });

  it('leaves a member that went silent for another, and shows what it missed', async () => {
    const etcd = await startEtcd();
    const proxies = [await startProxy(etcd.port()), await startProxy(etcd.port())];
    const writer = await openEtcd(etcd.port());
    const reader = await openEtcd(`etcd://${proxies.map(({ port }) => `127.0.0.1:${port}`).join()}`);
    const watch = new Recorder(reader, (await reader.list(PARTITION)).cursor);
    const first = await committed(writer, put('a', 'absent'));
    await watch.reaches(first);
    proxies.find((proxy) => proxy.isUsed)!.mode = 'stall';
    const second = await committed(writer, put('a', first));
    const { tookMs } = await timed(watch.reaches(second));
    expect(tookMs).toBeLessThan(2 * TIMEOUT_MS + SLACK_MS);
    expect(watch.changes.map(({ revision }) => revision)).toEqual([first, second]);
    await watch.until(() => watch.silences.at(-1)?.to !== undefined);
    expect(watch.silences).toEqual([{ from: 1, to: 2 }]);
  });

  it('tells a watcher to list again when etcd has compacted what it needs', async () => {
    const etcd = await startEtcd();
    const store = await openEtcd(etcd.port());
    const first = await committed(store, put('a', 'absent'));
    const second = await committed(store, put('a', first));
    const third = await committed(store, put('a', second));
    await compact(etcd.port());
    const late = new Recorder(store, first);
    await late.until(() => late.isCompacted);
    const inTime = new Recorder(store, third);
    await inTime.reaches(await committed(store, put('a', third)));
    expect((await listAll(store)).items).toHaveLength(1);
  });

  it('says what to do about a commit with more writes than etcd takes, and writes nothing of it', async () => {
    const etcd = await startEtcd();
    const store = await openEtcd(etcd.port());
    const writes = Array.from({ length: 128 }, (_, n) => put(`k${n}`, 'absent'));
    await committed(store, ...writes.slice(0, 127));
    const more = writes.map((write) => ({ ...write, key: `more ${write.key}` }));
    await expect(store.commit(PARTITION, more)).rejects.toMatchObject({
      code: 'STORE_LIMIT',
      message: expect.stringContaining('--max-txn-ops'),
    });
    const large = writes.slice(0, 40).map((write) => put(`large ${write.key}`, 'absent', 'x'.repeat(60_000)));
    await expect(store.commit(PARTITION, large)).rejects.toMatchObject({
      code: 'STORE_LIMIT',
      message: expect.stringContaining('--max-request-bytes'),
    });
    expect((await listAll(store)).items).toHaveLength(127);
  });

  it('takes and shows a full queue’s dismissal when etcd is started as documented', async () => {
    const etcd = await startEtcd(1, '--max-txn-ops=1024', '--max-request-bytes=8388608');
    const store = await openEtcd(etcd.port());
    const watch = new Recorder(store, (await store.list(PARTITION)).cursor);
    const writes = Array.from({ length: 300 }, (_, n) => put(`k${n}`, 'absent', 'x'.repeat(24_000)));
    const revision = await committed(store, ...writes);
    await watch.reaches(revision);
    expect(watch.commits.map((changes) => changes.length)).toEqual([300]);
    const items = await store.get(
      PARTITION,
      writes.map(({ key }) => key),
    );
    expect(items.every((item) => item?.revision === revision && item.value.length === 24_000)).toBe(true);
  });
});

async function revisionOf(store: StateStore, key: string): Promise<number> {
  const item = await getOne(store, key);
  if (!item) throw new Error(`${key} is not there yet`);
  return item.revision;
}

/** Everything before now. */
async function compact(port: number): Promise<void> {
  const client = new Etcd3({ hosts: `http://127.0.0.1:${port}` });
  onTestFinished(() => client.close());
  const { header } = await client.kv.range({ key: Buffer.from('any') });
  await client.kv.compact({ revision: header.revision, physical: true });
}
