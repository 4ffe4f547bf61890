import { describe, expect, it } from 'vitest';
import { type Change } from '../state-store.interface.js';
import { type OwnEntry } from './partition-commits.js';
import { partitionKeys } from './redis-keys.js';
import { type FeedEntry, RedisWatch } from './redis-watch.js';

const KEYS = partitionKeys('test/', 0);
const PARTITION = { number: 0, keys: KEYS, newest: 0 };

function watched(cursor: number) {
  const seen: (number | 'compacted')[] = [];
  const watch = new RedisWatch(PARTITION, cursor, {
    committed: ([change]: readonly Change[]) => seen.push(change!.revision),
    compacted: () => seen.push('compacted'),
  });
  return { watch, seen };
}

const own = (previous: number, revision: number): OwnEntry => ({
  partition: PARTITION,
  previous,
  revision,
  changes: () => [{ key: 'own', revision, value: 'value' }],
});

const read = (previous: number, revision: number): FeedEntry => [
  Buffer.from(`${revision}-0`),
  ['prev', `${previous}`, 'key', '+value'].map((text) => Buffer.from(text)),
];

describe('RedisWatch', () => {
  it('shows a commit once, whether its answer or the feed comes first', () => {
    const { watch, seen } = watched(1);
    watch.made(own(1, 2));
    watch.show([read(1, 2), read(2, 3)]);
    watch.made(own(2, 3));
    watch.show([read(3, 4)]);
    expect(seen).toEqual([2, 3, 4]);
  });

  it('leaves an answer that does not come next to the feed', () => {
    const { watch, seen } = watched(1);
    watch.made(own(2, 3));
    expect(seen).toEqual([]);
    watch.show([read(1, 2), read(2, 3)]);
    expect(seen).toEqual([2, 3]);
  });

  it('says of an answer whether it follows the one before and nothing is unshown', () => {
    const { watch } = watched(1);
    expect(watch.made(own(1, 2))).toBe(false);
    expect(watch.made(own(2, 3))).toBe(true);
    expect(watch.made(own(4, 5))).toBe(false);
    expect(watch.made(own(5, 6))).toBe(false);
    watch.show([read(3, 4), read(4, 5), read(5, 6)]);
    expect(watch.made(own(6, 7))).toBe(true);
  });

  it('does not take what was answered after the question for what the engine has lost', () => {
    const { watch, seen } = watched(1);
    const before = watch.shown;
    watch.made(own(1, 2));
    watch.connected(1, before);
    expect(seen).toEqual([2]);
    watch.connected(1, watch.shown);
    expect(seen).toEqual([2, 'compacted']);
  });

  it('finds out that what an answer had shown is lost', () => {
    const { watch, seen } = watched(1);
    watch.made(own(1, 3));
    watch.show([read(1, 2)]);
    watch.show([read(2, 4)]);
    watch.made(own(3, 5));
    expect(seen).toEqual([3, 'compacted']);
  });
});
