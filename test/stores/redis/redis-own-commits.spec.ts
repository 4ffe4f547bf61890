import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  committed,
  PARTITION,
  put,
  Recorder,
  remove,
  revisionOf,
} from '../../../src/stores/contract/harness.js';
import { type RedisStateStore } from '../../../src/stores/redis/redis-state-store.js';
import { startProxy } from '../engine-subject.js';
import { openRedis, startRedis } from './redis-subject.js';

/** Enough for a reader to rest. */
const MANY = 100;

/** Writes one key again and again; the revisions. */
async function writeMany(
  store: RedisStateStore,
  between?: (made: number) => Promise<unknown>,
  key = 'a',
): Promise<number[]> {
  const made = [await committed(store, put(key, 'absent'))];
  while (made.length < MANY) {
    await between?.(made.length);
    made.push(await committed(store, put(key, made.at(-1)!)));
  }
  return made;
}

describe('RedisStateStore, what it commits itself', () => {
  it('is shown before it is answered, and not read from the feed while nothing else happens', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    const watch = new Recorder(store, 0);
    const reads = async () =>
      Number(/cmdstat_xread:calls=(\d+)/.exec(String(await redis.command('INFO', 'commandstats')))?.[1] ?? 0);
    let shown = 0;
    const made: number[] = [];
    const needed: number[] = [];
    // A machine that is busy with something else makes the reader ask meanwhile: not each time.
    for (const key of ['a', 'b', 'c']) {
      const before = await reads();
      const isShown = async (count: number) =>
        expect(watch.commits.length).toBeGreaterThanOrEqual(shown + count);
      made.push(...(await writeMany(store, isShown, key)));
      shown = made.length;
      needed.push((await reads()) - before);
    }
    expect(watch.changes.map(({ revision }) => revision)).toEqual(made);
    expect(Math.min(...needed)).toBeLessThan(MANY / 2);
  });

  it('is shown as the feed shows it: deletions, commits of several writes, and none that was not made', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    const first = await committed(store, put('a', 'absent'), put('b', 'absent'));
    const [own, read] = [new Recorder(store, first), new Recorder(await openRedis(redis.port), first)];
    const outcomes = await Promise.all(
      store.commitMany([
        { partition: PARTITION, writes: [remove('a', first), put('c', 'absent', 'one')] },
        { partition: PARTITION, writes: [put('d', 'absent'), put('e', 'absent'), put('b', first + 1)] },
        { partition: PARTITION, writes: [put('f', 'absent', 'two')] },
      ]),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['committed', 'conflict', 'committed']);
    const revision = revisionOf(outcomes[0]!);
    const changes = [
      { key: 'a', revision, value: undefined },
      { key: 'c', revision, value: 'one' },
      { key: 'f', revision, value: 'two' },
    ];
    await read.reaches(revision);
    expect([own.changes, read.changes]).toEqual([changes, changes]);
    const items = await store.get(PARTITION, ['a', 'b', 'c', 'd', 'e', 'f']);
    expect(items.map((item) => item?.revision)).toEqual([
      undefined,
      first,
      revision,
      undefined,
      undefined,
      revision,
    ]);
  });

  it('is shown once and in order with what others commit in between', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    const other = await openRedis(redis.port);
    const watch = new Recorder(store, 0);
    const theirs: number[] = [];
    const made = await writeMany(store, async (count) => {
      if (count % 20 === 0) theirs.push(await committed(other, put(`other${count}`, 'absent')));
    });
    await watch.reaches(made.at(-1)!);
    expect(watch.changes.map(({ revision }) => revision)).toEqual(
      [...made, ...theirs].toSorted((a, b) => a - b),
    );
  });

  it('does not keep what others commit from being shown, also to another partition', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port, { partitions: 2 });
    const other = await openRedis(redis.port);
    const watch = new Recorder(store, 0);
    const shown: string[] = [];
    store.watch(1, 0, { committed: ([change]) => shown.push(change!.key), compacted: () => undefined });
    const seen: boolean[] = [];
    await writeMany(store, async (count) => {
      if (count === MANY / 2) revisionOf(await other.commit(1, [put('theirs', 'absent')]));
      await delay(1);
      seen.push(shown.includes('theirs'));
    });
    expect(watch.isCompacted).toBe(false);
    expect(seen.lastIndexOf(false)).toBeLessThan(MANY / 2 + 20);
  });

  it('goes on being shown, and is shown once, when an answer is lost', async () => {
    const redis = await startRedis();
    const proxy = await startProxy(redis.port);
    const store = await openRedis(proxy.port);
    const watch = new Recorder(store, 0);
    const made = await writeMany(store);
    proxy.mode = 'mute';
    const lost = store.commit(PARTITION, [put('b', 'absent')]);
    await delay(50);
    proxy.mode = 'pass';
    proxy.cut();
    expect(await lost).toMatchObject({ status: 'unknown' });
    await watch.until(() => watch.changes.at(-1)?.key === 'b');
    expect(watch.changes).toHaveLength(made.length + 1);
    expect(watch.isCompacted).toBe(false);
  });

  it('is unknown when an error stopped the script after it had begun to write', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port, { partitions: 2 });
    const first = await committed(store, put('a', 'absent'));
    await redis.command('SET', '{test/p0}/index', 'something else');
    const outcomes = await Promise.all(
      store.commitMany([
        { partition: 0, writes: [put('b', 'absent')] },
        { partition: 0, writes: [put('a', first + 1)] },
        { partition: 1, writes: [put('c', 'absent')] },
      ]),
    );
    expect(outcomes).toMatchObject([
      { status: 'unknown', cause: { message: expect.stringContaining('WRONGTYPE') } },
      { status: 'conflict' },
      { status: 'committed' },
    ]);
    expect(await redis.command('XLEN', '{test/p0}/feed')).toBe(2);
  });
});
