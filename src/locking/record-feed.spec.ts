import { describe, expect, it } from 'vitest';
import { FaultyStore } from '../../test/support/faulty-store.js';
import { bench, deferred, Layer, longName } from '../../test/support/layer.js';
import { plain } from '../../test/support/record-shelf.js';
import { settled, SimulatedClock } from '../../test/support/simulated-clock.js';
import { startManager } from '../../test/support/lock-managers.js';
import { WrappedStore } from '../../test/support/wrapped-store.js';
import { MemoryStateStore } from '../stores/memory/memory-state-store.js';
import {
  type Change,
  type Cursor,
  type Item,
  type Listing,
  type Unwatch,
  type WatchObserver,
} from '../stores/state-store.interface.js';
import { StoreError } from '../stores/store.error.js';
import { type Sight } from './lock-manager.js';
import { headKey } from './records/item-keys.js';

/** Two managers over one store; what the second sees waits for `feed.deliver()`. */
async function two() {
  const first = await bench();
  const feed = new FaultyStore(first.store.inner, () => 0, { heldBack: 1 });
  const second = await bench({}, { clock: first.clock, store: feed });
  return { first, second, feed };
}

async function itemsOf(pages: Listing['pages']): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of pages) items.push(...page);
  return items;
}

/** Of one process alone, and in words. */
class PlainSpokenStore extends WrappedStore {
  readonly exclusive = true;

  override watch(partition: number, cursor: Cursor, observer: WatchObserver): Unwatch {
    const inWords = (change: Change) => ({ ...change, value: change.value?.toString() });
    const committed = (changes: readonly Change[]) => observer.committed(changes.map(inWords));
    return super.watch(partition, cursor, { committed, compacted: () => observer.compacted() });
  }
}

const crowd = (layer: Layer, count: number) =>
  Promise.all(Array.from({ length: count }, (_, i) => layer.acquire(longName(i))));

describe('RecordFeed', () => {
  it('shows every manager the same events in the same order', async () => {
    const { first, second, feed } = await two();
    await first.layer.acquire('a');
    await second.layer.acquire('b');
    await second.layer.fail('a');
    await first.layer.succeed('b');
    feed.deliver();
    expect(first.events.map(({ name }) => name)).toEqual([
      'granted',
      'queued',
      'released',
      'assigned',
      'completed',
    ]);
    expect(second.events).toEqual(first.events);
  });

  it('knows its own commits again when a store shows in words what it was given', async () => {
    const clock = new SimulatedClock();
    const store = new PlainSpokenStore(new MemoryStateStore(clock));
    await store.open();
    const { manager, bus } = await startManager(store, clock);
    const names: string[] = [];
    bus.events$.subscribe((all) =>
      names.push(...all.flatMap(({ events }) => events.map(({ name }) => name))),
    );
    const layer = new Layer(manager);
    await layer.acquire('a');
    await layer.succeed('a');
    expect(names).toEqual(['granted', 'completed']);
  });

  it('brings a manager up to date without a command', async () => {
    const { first, second, feed } = await two();
    await crowd(first.layer, 60);
    feed.deliver();
    expect(plain(second.manager.peek('layer')!)).toEqual(plain(first.manager.peek('layer')!));
    await first.layer.withdraw(longName(20));
    await first.layer.withdraw(longName(59));
    feed.deliver();
    expect(plain(second.manager.peek('layer')!)).toEqual(plain(first.manager.peek('layer')!));
    expect(second.store.gets).toBe(0);
  });

  it('keeps resources apart whose commits are shown as one', async () => {
    const { first, second, feed } = await two();
    const layers = ['one', 'other'].map((name) => new Layer(first.manager, name));
    const before = first.store.commits.length;
    await Promise.all(layers.map((layer, n) => crowd(layer, 30 + n)));
    expect(first.store.commits.length).toBe(before + layers.length);
    expect(feed.deliverAsOne()).toBeGreaterThan(layers.length);
    for (const name of ['one', 'other']) {
      expect(plain(second.manager.peek(name)!)).toEqual(plain(first.manager.peek(name)!));
    }
    expect(second.store.gets).toBe(0);
  });

  it('lists again after a compaction: what is gone is forgotten, what is new is known', async () => {
    const { first, second, feed } = await two();
    const gone = new Layer(first.manager, 'gone');
    await gone.acquire('a', { leaseMs: 0 });
    feed.deliver();
    expect(second.manager.peek('gone')).toBeDefined();
    const [head] = await first.store.inner.get(0, [headKey('gone')]);
    await first.store.inner.commit(0, [{ key: headKey('gone'), expect: head!.revision, delete: true }]);
    await crowd(first.layer, 60);
    feed.compact();
    await settled();
    expect(second.manager.peek('gone')).toBeUndefined();
    expect(plain(second.manager.peek('layer')!)).toEqual(plain(first.manager.peek('layer')!));
    await first.layer.withdraw(longName(5));
    feed.deliver();
    expect(second.events.at(-1)).toMatchObject({ name: 'withdrawn', nodeId: longName(5) });
  });

  it('says after a compaction which resources may have changed unseen, and only those', async () => {
    const { first, second, feed } = await two();
    const others = ['kept', 'changed', 'read', 'gone'].map((id) => new Layer(first.manager, id));
    for (const layer of others) await layer.acquire('a', { leaseMs: 0 });
    feed.deliver();
    await others[1]!.acquire('b');
    await others[2]!.acquire('b');
    await others[3]!.fail('a');
    await new Layer(second.manager, 'read').claim('b');
    const [head] = await first.store.inner.get(0, [headKey('gone')]);
    await first.store.inner.commit(0, [{ key: headKey('gone'), expect: head!.revision, delete: true }]);
    feed.compact();
    await settled();
    expect(second.gaps).toHaveLength(1);
    const concerned = ['kept', 'changed', 'read', 'gone'].filter((id) => second.gaps[0]!.concerns(id));
    expect(concerned).toEqual(['changed', 'read', 'gone']);
    expect(first.gaps).toEqual([]);
  });

  it('goes back with a store that has lost what was shown, and says of which resources', async () => {
    const { first, second, feed } = await two();
    const [kept, older, lost] = ['kept', 'older', 'lost'].map((id) => new Layer(first.manager, id));
    await kept!.acquire('a', { leaseMs: 0 });
    await older!.acquire('a', { leaseMs: 0 });
    const { cursor, pages } = await first.store.inner.list(0);
    const before = await itemsOf(pages);
    await older!.acquire('b');
    await lost!.acquire('a');
    feed.deliver();
    expect(second.manager.peek('lost')).toBeDefined();
    second.store.onList = async () => ({ cursor, pages: [before] });
    const sights: Sight[] = [];
    second.manager.sight$.subscribe((sight) => sights.push(sight));
    feed.compact();
    await settled();
    expect(sights).toEqual([
      { isWatching: false, cause: expect.any(Error) },
      { isWatching: true, setBack: 2 },
    ]);
    expect(second.manager.peek('lost')).toBeUndefined();
    expect(second.manager.peek('older')!.keys[0]!.lanes).toEqual([]);
    const concerned = ['kept', 'older', 'lost'].filter((id) => second.gaps[0]!.concerns(id));
    expect(concerned).toEqual(['older', 'lost']);
  });

  it('does not go back for a listing that was overtaken while it was read', async () => {
    const { first, second, feed } = await two();
    await first.layer.acquire('a', { leaseMs: 0 });
    feed.deliver();
    const { cursor, pages } = await first.store.inner.list(0);
    const before = await itemsOf(pages);
    second.store.onList = async () => {
      await second.layer.acquire('b');
      return { cursor, pages: [before] };
    };
    feed.compact();
    await settled();
    expect(second.manager.peek('layer')!.keys[0]!.lanes).toHaveLength(1);
  });

  it('tells of what others did when the state shows it', async () => {
    const { first, second, feed } = await two();
    const holders: (string | undefined)[] = [];
    second.bus.events$.subscribe(() => holders.push(second.manager.peek('layer')?.keys[0]?.hold?.nodeId));
    await first.layer.acquire('a');
    await first.layer.acquire('b');
    await first.layer.fail('a');
    feed.deliver();
    expect(holders).toEqual(['a', 'a', 'b']);
  });

  /** The second lists a record whose head and parts are not of one moment. */
  async function torn() {
    const { first, second, feed } = await two();
    await crowd(first.layer, 60);
    second.store.onList = async (list) => {
      const { cursor, pages } = await list();
      const heads = (await itemsOf(pages)).filter(({ key }) => key === headKey('layer'));
      await first.layer.withdraw(longName(20));
      const after = await itemsOf((await first.store.inner.list(0)).pages);
      return { cursor, pages: [heads, after.filter(({ key }) => key !== headKey('layer'))] };
    };
    return { first, second, feed };
  }

  it('reads a record again whose parts changed while they were listed', async () => {
    const { first, second, feed } = await torn();
    const known: number[] = [];
    second.bus.gaps$.subscribe((gap) => {
      if (gap.concerns('layer')) known.push(second.manager.revisionOf('layer'));
    });
    feed.compact();
    await settled();
    expect(plain(second.manager.peek('layer')!)).toEqual(plain(first.manager.peek('layer')!));
    expect(known.at(-1), 'who listens is told when it is known').toBe(first.manager.revisionOf('layer'));
  });

  it('reads it until that succeeds, and whatever else changes meanwhile', async () => {
    const { first, second, feed } = await torn();
    let failures = 3;
    second.store.onGet = (_keys, get) =>
      failures-- > 0 ? Promise.reject(new StoreError('STORE_UNAVAILABLE', 'get', 'down')) : get();
    feed.compact();
    await settled();
    await first.layer.withdraw(longName(30));
    feed.deliver();
    await settled();
    expect(second.manager.peek('layer')?.keys).toEqual([]);
    await first.clock.advance(3000);
    expect(plain(second.manager.peek('layer')!)).toEqual(plain(first.manager.peek('layer')!));
    expect(second.store.gets).toBeLessThan(8);
  });

  it('tries to list again until the store answers', async () => {
    const { first, second, feed } = await two();
    let failures = 3;
    second.store.onList = (list) =>
      failures-- > 0 ? Promise.reject(new StoreError('STORE_UNAVAILABLE', 'list', 'down')) : list();
    feed.compact();
    await first.layer.acquire('a');
    await first.clock.advance(2000);
    expect(second.manager.peek('layer')).toBeUndefined();
    await first.clock.advance(2000);
    expect(second.manager.peek('layer')?.keys[0]?.hold).toMatchObject({ nodeId: 'a' });
  });

  it('watches no more once it was stopped, not even at the end of a listing', async () => {
    const { first, second, feed } = await two();
    const gate = deferred();
    second.store.onList = (list) => gate.promise.then(list);
    feed.compact();
    await second.manager.beforeApplicationShutdown();
    gate.resolve();
    await settled();
    await first.layer.acquire('a');
    feed.deliver();
    expect(second.events).toEqual([]);
  });

  it('leaves alone what another version wrote, and refuses commands for it', async () => {
    const { first, second, feed } = await two();
    await first.layer.acquire('a');
    feed.deliver();
    const [head] = await first.store.inner.get(0, [headKey('layer')]);
    const written = { key: headKey('layer'), expect: head!.revision, put: '{"v":99}' };
    await first.store.inner.commit(0, [written]);
    feed.deliver();
    await expect(second.layer.acquire('b')).rejects.toMatchObject({ code: 'STORE_UNREADABLE' });
    await expect(first.manager.read('layer')).rejects.toMatchObject({ code: 'STORE_UNREADABLE' });
    const [kept] = await first.store.inner.get(0, [headKey('layer')]);
    expect(kept?.value).toBe('{"v":99}');
  });
});
