import { describe, expect, it } from 'vitest';
import { ChangeFeed, KEPT_CHARACTERS, KEPT_CHARACTERS_WATCHED } from '../../src/stores/change-feed.js';
import { type Cursor } from '../../src/stores/state-store.interface.js';

const VALUE = 'x'.repeat(64 * 1024);
const MORE_THAN_KEPT = KEPT_CHARACTERS / VALUE.length + 10;

function append(feed: ChangeFeed, revision: Cursor, value = ''): void {
  feed.append(revision, [{ key: 'k', revision, value }]);
}

function watch(feed: ChangeFeed, cursor: Cursor) {
  const told: (number | 'compacted')[] = [];
  const unwatch = feed.watch(cursor, {
    committed: (changes) => told.push(changes[0]!.revision),
    compacted: () => told.push('compacted'),
  });
  return { told, unwatch };
}

describe('ChangeFeed', () => {
  it('calls no observer before watch has returned', async () => {
    const feed = new ChangeFeed(0);
    append(feed, 1);
    const { told } = watch(feed, 0);
    expect(told).toEqual([]);
    append(feed, 2);
    await Promise.resolve();
    expect(told).toEqual([1, 2]);
    append(feed, 3);
    expect(told).toEqual([1, 2, 3]);
  });

  it('keeps a bounded amount of history, and says so to a watcher that comes too late', async () => {
    const feed = new ChangeFeed(0);
    for (let revision = 1; revision <= MORE_THAN_KEPT; revision++) append(feed, revision, VALUE);
    const late = watch(feed, 0);
    const inTime = watch(feed, 20);
    await Promise.resolve();
    expect(late.told).toEqual(['compacted']);
    expect(inTime.told[0]).toBe(21);
    expect(inTime.told).toHaveLength(MORE_THAN_KEPT - 20);
    append(feed, MORE_THAN_KEPT + 1);
    expect(late.told).toEqual(['compacted']);
  });

  it('keeps less while somebody watches, so that what is kept dies young', async () => {
    const feed = new ChangeFeed(0);
    watch(feed, 0);
    await Promise.resolve();
    const kept = Math.floor(KEPT_CHARACTERS_WATCHED / VALUE.length) - 1;
    for (let revision = 1; revision <= 20; revision++) append(feed, revision, VALUE);
    const late = watch(feed, 20 - kept - 2);
    const inTime = watch(feed, 20 - kept);
    await Promise.resolve();
    expect(late.told).toEqual(['compacted']);
    expect(inTime.told).toHaveLength(kept);
  });

  it('finds its place in a long history, from every cursor', async () => {
    const feed = new ChangeFeed(0);
    const long = 'x'.repeat(1000);
    const count = Math.ceil(KEPT_CHARACTERS / 1000) * 3;
    for (let revision = 2; revision <= count * 2; revision += 2) append(feed, revision, long);
    for (const cursor of [count * 2 - 1, count * 2 - 2, count * 2 - 2001]) {
      const { told } = watch(feed, cursor);
      await Promise.resolve();
      expect(told[0]).toBe(cursor + (cursor % 2 === 0 ? 2 : 1));
      expect(told.at(-1)).toBe(count * 2);
    }
  });

  it('tells a cursor it never gave out to list again', async () => {
    const feed = new ChangeFeed(1000);
    append(feed, 1001);
    const future = watch(feed, 1002);
    const past = watch(feed, 999);
    await Promise.resolve();
    expect(future.told).toEqual(['compacted']);
    expect(past.told).toEqual(['compacted']);
  });

  it('has everybody list again when its history has become uncertain', async () => {
    const feed = new ChangeFeed(0);
    append(feed, 1);
    const caughtUp = watch(feed, 1);
    const unwatched = watch(feed, 1);
    await Promise.resolve();
    unwatched.unwatch();
    feed.restart(5);
    const old = watch(feed, 1);
    const fresh = watch(feed, 5);
    await Promise.resolve();
    append(feed, 6);
    expect(caughtUp.told).toEqual(['compacted']);
    expect(unwatched.told).toEqual([]);
    expect(old.told).toEqual(['compacted']);
    expect(fresh.told).toEqual([6]);
  });
});
