import { describe, expect, it } from 'vitest';
import { put } from '../../../src/stores/contract/harness.js';
import { type StateStore } from '../../../src/stores/state-store.interface.js';
import { eventually } from '../eventually.js';
import { openRedis, startRedis } from './redis-subject.js';

const PARTITIONS = [0, 1, 2];

/** How often a command was run, since the server was started. */
async function calls(redis: { command(...args: [string, string]): Promise<unknown> }, name: string) {
  const stats = String(await redis.command('INFO', 'commandstats'));
  return Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

async function watched(store: StateStore, partition: number) {
  const seen: string[] = [];
  const { cursor } = await store.list(partition);
  const unwatch = store.watch(partition, cursor, {
    committed: (changes) => seen.push(...changes.map(({ key }) => key)),
    compacted: () => seen.push('compacted'),
  });
  return { seen, unwatch };
}

const write = (store: StateStore, partition: number, key: string) =>
  store.commit(partition, [put(key, 'absent')]);

describe('RedisStateStore, several partitions on one server', () => {
  it('commits to all of them in one run of the script, each judged alone', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port, { partitions: 3 });
    await write(store, 1, 'taken');
    const before = await calls(redis, 'evalsha');
    const outcomes = await Promise.all(
      store.commitMany(PARTITIONS.map((partition) => ({ partition, writes: [put('taken', 'absent')] }))),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['committed', 'conflict', 'committed']);
    expect(await calls(redis, 'evalsha')).toBe(before + 1);
  });

  it('refuses a commit that is too large without harm to those beside it', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port, { partitions: 3 });
    const large = Array.from({ length: 5000 }, (_, n) => put(`k${n}`, 'absent'));
    const outcomes = await Promise.allSettled(
      store.commitMany([
        { partition: 0, writes: [put('a', 'absent')] },
        { partition: 0, writes: large },
        { partition: 0, writes: [put('b', 'absent')] },
      ]),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const items = await store.get(0, ['a', 'k0', 'b']);
    expect(items.map((item) => item?.key)).toEqual(['a', undefined, 'b']);
  });

  it('shows the changes of all of them on one connection, to whoever comes and until it goes', async () => {
    const redis = await startRedis();
    const store = await openRedis(redis.port, { partitions: 3 });
    const clients = async () =>
      Number(/connected_clients:(\d+)/.exec(String(await redis.command('INFO', 'clients')))?.[1]);
    const before = await clients();
    const [first, second] = [await watched(store, 0), await watched(store, 1)];
    await eventually(async () => expect(await clients()).toBe(before + 1));
    for (const partition of PARTITIONS) await write(store, partition, 'a');
    await eventually(async () => expect([first.seen, second.seen]).toEqual([['a'], ['a']]));
    const third = await watched(store, 2);
    first.unwatch();
    for (const partition of PARTITIONS) await write(store, partition, 'b');
    await eventually(async () => expect([second.seen, third.seen]).toEqual([['a', 'b'], ['b']]));
    expect(first.seen).toEqual(['a']);
    expect(await clients()).toBe(before + 1);
  });
});
