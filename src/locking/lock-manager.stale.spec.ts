import { beforeEach, describe, expect, it } from 'vitest';
import { FaultyStore } from '../../test/support/faulty-store.js';
import { bench, type Bench } from '../../test/support/layer.js';
import { settled } from '../../test/support/simulated-clock.js';

describe('LockManager with another one at the same store', () => {
  let first: Bench;
  let second: Bench;
  let feed: FaultyStore;

  /** The second sees nothing of the first but what it reads. */
  beforeEach(async () => {
    first = await bench();
    feed = new FaultyStore(first.store.inner, () => 0, { heldBack: 1 });
    second = await bench({}, { clock: first.clock, store: feed });
  });

  it('notices by compare-and-set what it has not seen', async () => {
    await first.layer.acquire('a');
    expect(await second.layer.acquire('b')).toMatchObject({ kind: 'queued', position: 1 });
    await first.layer.acquire('c');
    expect(await second.layer.acquire('d')).toMatchObject({ kind: 'queued', position: 3 });
  });

  it('never gives an answer that commits nothing from what it last saw', async () => {
    await second.layer.acquire('a');
    await second.layer.acquire('b');
    await first.layer.fail('a');
    const [claimed] = await Promise.all([second.layer.acquire('b'), second.layer.claim('b')]);
    expect(claimed).toMatchObject({ kind: 'acquired' });
    await first.layer.succeed('b');
    expect(await second.layer.renew('b')).toMatchObject({ kind: 'refused', code: 'LOCK_NOT_FOUND' });
    expect(await second.layer.acquire('c')).toMatchObject({ kind: 'skipped', nodeId: 'b' });
  });

  it('reads what is stored, not what it remembers', async () => {
    await second.layer.acquire('a');
    await first.layer.acquire('b');
    expect(await second.layer.waiting()).toEqual(['b']);
    expect(second.manager.peek('layer')?.keys[0]?.lanes).toEqual([]);
  });

  it('keeps what the feed brought while it was reading something older', async () => {
    await first.layer.acquire('a');
    feed.deliver();
    second.store.onCommit = (_writes, commit) =>
      commit().then(() => ({ status: 'unknown', cause: 'the answer was lost' }));
    second.store.onGet = async (_keys, get) => {
      const items = await get();
      await first.layer.fail('a');
      await first.layer.renew('b', { leaseMs: 1000 });
      feed.deliver();
      return items;
    };
    expect(await second.layer.acquire('b')).toMatchObject({ kind: 'queued', position: 1 });
    second.store.onCommit = second.store.onGet = undefined;
    expect(second.manager.peek('layer')?.keys[0]?.hold).toMatchObject({ nodeId: 'b' });
    await first.manager.beforeApplicationShutdown();
    await first.clock.advance(1000);
    expect(await second.layer.holder()).toBeUndefined();
  });

  it('does not bring back a record that was deleted before its own commit was answered', async () => {
    second.store.onCommit = async (_writes, commit) => {
      const outcome = await commit();
      const [head] = await first.store.inner.get(0, ['r/layer']);
      await first.store.inner.commit(0, [{ key: 'r/layer', expect: head!.revision, delete: true }]);
      feed.deliver();
      return outcome;
    };
    await second.layer.acquire('a', { leaseMs: 0 });
    await settled();
    expect(second.manager.peek('layer')).toBeUndefined();
    expect([second.manager.size, second.manager.watched]).toEqual([0, 0]);
  });

  it('takes over what a manager that died was watching', async () => {
    await first.layer.acquire('a', { leaseMs: 5000 });
    await first.layer.acquire('b');
    feed.deliver();
    await first.manager.beforeApplicationShutdown();
    await first.clock.advance(5000);
    expect(await second.layer.holder()).toBe('b');
  });

  it('does not expire what was renewed where it could not see', async () => {
    await second.layer.acquire('a', { leaseMs: 5000 });
    await second.layer.acquire('b');
    await first.clock.advance(4000);
    await first.layer.renew('a');
    await first.clock.advance(4000);
    expect(await first.layer.holder()).toBe('a');
    await first.clock.advance(1000);
    expect(await first.layer.holder()).toBe('b');
  });
});
