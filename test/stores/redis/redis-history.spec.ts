import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
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
import { eventually } from '../eventually.js';
import { openRedis, startRedis } from './redis-subject.js';

const HEAD = '{test/p0}/head';
const FEED = '{test/p0}/feed';

describe('RedisStateStore, its revisions and its history', () => {
  it('gives out revisions of the engine’s clock, in microseconds', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    const before = Date.now() * 1000;
    const revision = await committed(store, put('a', 'absent'));
    expect(revision).toBeGreaterThanOrEqual(before);
    expect(revision).toBeLessThan((Date.now() + 1000) * 1000);
  });

  it('never gives out a revision again when Redis comes back with older data, and tells watchers to list again', async () => {
    const copy = mkdtempSync(join(tmpdir(), 'holdfast-aof-'));
    onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
    const redis = await startRedis('--appendonly', 'yes');
    const store = await openRedis(redis.port);
    const kept = await committed(store, put('a', 'absent', 'kept'));
    await redis.stop();
    redis.copyDirectory(copy);
    await redis.run();
    await eventually(() => getOne(store, 'a'));
    const watch = new Recorder(store, kept);
    const lost = await committed(store, put('a', kept, 'lost'));
    await watch.reaches(lost);
    await redis.stop();
    redis.putBack(copy);
    await redis.run();
    await eventually(async () => expect((await getOne(store, 'a'))?.value).toBe('kept'));
    await watch.until(() => watch.isCompacted);
    expect(await committed(store, put('a', kept, 'new'))).toBeGreaterThan(lost);
  });

  it('does not let revisions go back when a server with a slower clock and without the data takes over', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    const anHourAhead = (Date.now() + 3_600_000) * 1000;
    await committed(store, put('a', 'absent'));
    await redis.command('HSET', HEAD, 'revision', anHourAhead);
    const ahead = await committed(store, put('b', 'absent'));
    expect(ahead).toBe(anHourAhead + 1);
    await redis.command('FLUSHALL');
    expect(await committed(store, put('a', 'absent'))).toBeGreaterThan(ahead);
  });

  it('knows the highest revision also from what it listed', async () => {
    const redis = await startRedis();
    const writer = await openRedis(redis.port);
    await committed(writer, put('a', 'absent'));
    const anHourAhead = (Date.now() + 3_600_000) * 1000;
    await redis.command('HSET', HEAD, 'revision', anHourAhead);
    const reader = await openRedis(redis.port);
    await listAll(reader);
    await redis.command('FLUSHALL');
    expect(await committed(reader, put('a', 'absent'))).toBeGreaterThan(anHourAhead);
  });

  it('knows the highest revision also from what it was shown', async () => {
    const redis = await startRedis();
    const [writer, reader] = [await openRedis(redis.port), await openRedis(redis.port)];
    const first = await committed(writer, put('a', 'absent'));
    const watch = new Recorder(reader, first);
    const anHourAhead = (Date.now() + 3_600_000) * 1000;
    await redis.command('HSET', HEAD, 'revision', anHourAhead);
    await redis.command('XADD', FEED, `${anHourAhead}-0`, 'prev', String(first), 'b', '+x');
    await watch.reaches(anHourAhead);
    await redis.command('FLUSHALL');
    expect(await committed(reader, put('a', 'absent'))).toBeGreaterThan(anHourAhead);
  });

  it('tells a watcher to list again when Redis was emptied, even before anything is written', async () => {
    const redis = await startRedis();
    const proxy = await startProxy(redis.port);
    const store = await openRedis(proxy.port);
    const watch = new Recorder(store, await committed(store, put('a', 'absent')));
    await redis.command('FLUSHALL');
    proxy.cut();
    await watch.until(() => watch.isCompacted);
  });

  it('tells a watcher to list again when the change after the one it saw is not the next', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port);
    const watch = new Recorder(store, await committed(store, put('a', 'absent')));
    await delay(100);
    await redis.command('FLUSHALL');
    await committed(store, put('a', 'absent'));
    await watch.until(() => watch.isCompacted);
    expect(watch.commits).toEqual([]);
  });

  it('cuts its history off at the size set, and tells only those who need what is gone', async () => {
    const redis = await startRedis();
    const historyBytes = 20_000;
    const store = await openRedis(redis.port, { historyBytes: () => historyBytes });
    const first = await committed(store, put('a', 'absent'));
    const following = new Recorder(store, first);
    const made = [first];
    for (let n = 0; n < 100; n++) made.push(await committed(store, put('a', made.at(-1)!, 'x'.repeat(1000))));
    await following.reaches(made.at(-1)!);
    expect(following.changes.map(({ revision }) => revision)).toEqual(made.slice(1));
    const kept = Number(await redis.command('XLEN', FEED));
    expect(kept).toBeGreaterThanOrEqual(historyBytes / 2 / 1001);
    expect(kept).toBeLessThanOrEqual(historyBytes / 1001 + 1);
    const late = new Recorder(store, first);
    await late.until(() => late.isCompacted);
    expect(late.commits).toEqual([]);
    const inTime = new Recorder(store, made.at(-5)!);
    await inTime.reaches(made.at(-1)!);
    expect(inTime.changes.map(({ revision }) => revision)).toEqual(made.slice(-4));
  });

  it('shows every change once and in order while the connections of the watch break again and again', async () => {
    const redis = await startRedis();
    const proxy = await startProxy(redis.port);
    const writer = await openRedis(redis.port);
    const reader = await openRedis(proxy.port);
    const { cursor } = await reader.list(PARTITION);
    const watch = new Recorder(reader, cursor);
    const made = await writeWhile(writer, async () => {
      for (let round = 0; round < 15; round++) {
        await delay(40);
        proxy.mode = round % 3 === 0 ? 'mute' : 'pass';
        proxy.cut();
      }
      proxy.mode = 'pass';
      proxy.cut();
    });
    await watch.reaches(made.at(-1)!);
    expect(watch.changes.map(({ revision }) => revision)).toEqual(made);
    expect(made.length).toBeGreaterThan(20);
  });

  it('resumes a watch that heard nothing because Redis was stopped for longer than its time', async () => {
    const redis = await startRedis();
    const proxy = await startProxy(redis.port);
    const writer = await openRedis(redis.port);
    const reader = await openRedis(proxy.port);
    const watch = new Recorder(reader, (await reader.list(PARTITION)).cursor);
    const first = await committed(writer, put('a', 'absent'));
    await watch.reaches(first);
    proxy.mode = 'stall';
    const second = await committed(writer, put('a', first));
    await delay(3000);
    proxy.mode = 'pass';
    await watch.reaches(second);
    expect(watch.changes.map(({ revision }) => revision)).toEqual([first, second]);
    await watch.until(() => watch.silences.at(-1)?.to !== undefined);
    expect(watch.silences).toEqual([{ from: 1, to: 2 }]);
  });
});

/** Writes one key again and again until the other has finished; the revisions made. */
async function writeWhile(store: StateStore, other: () => Promise<void>): Promise<number[]> {
  const made = [await committed(store, put('busy', 'absent'))];
  let running = true;
  const finished = other().finally(() => (running = false));
  while (running) {
    made.push(await committed(store, put('busy', made.at(-1)!)));
    await delay(2);
  }
  await finished;
  made.push(await committed(store, put('busy', made.at(-1)!)));
  return made;
}
