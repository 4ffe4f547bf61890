import { beforeEach, describe, expect, it, vi } from 'vitest';
import { StoreError } from '../stores/store.error.js';
import { type CommitOutcome } from '../stores/state-store.interface.js';
import { FaultyStore } from '../../test/support/faulty-store.js';
import { bench, type Bench, deferred, Layer } from '../../test/support/layer.js';
import { settled } from '../../test/support/simulated-clock.js';

/** Who is not answered waits for ever. */
const QUICK = { timeout: 5000 };

const UNKNOWN: CommitOutcome = { status: 'unknown', cause: 'the answer was lost' };
const down = () => Promise.reject(new StoreError('STORE_UNAVAILABLE', 'commit', 'the disk is full'));

describe('LockManager when the store fails', () => {
  let b: Bench;
  let layer: Layer;

  beforeEach(async () => {
    b = await bench();
    layer = b.layer;
  });

  it(
    'rejects everybody whose commit was refused, changes nothing, and works again afterwards',
    QUICK,
    async () => {
      await layer.acquire('a');
      b.store.onCommit = down;
      const asks = await Promise.allSettled(['b', 'c'].map((node) => layer.acquire(node)));
      for (const ask of asks)
        expect(ask).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } });
      expect(await layer.waiting()).toEqual([]);
      expect(b.events).toHaveLength(1);
      b.store.onCommit = undefined;
      expect(await layer.acquire('b')).toMatchObject({ kind: 'queued', position: 1 });
    },
  );

  it('rejects when an answer that commits nothing cannot be confirmed', async () => {
    await layer.acquire('a');
    await layer.acquire('b');
    b.store.onGet = () => Promise.reject(new StoreError('STORE_UNAVAILABLE', 'get', 'down'));
    await expect(layer.acquire('b')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    b.store.onGet = undefined;
    expect(await layer.acquire('b')).toMatchObject({ kind: 'queued', position: 1 });
  });

  it('rejects everything once the store is closed', async () => {
    await layer.acquire('a');
    await b.store.close();
    await expect(layer.acquire('b')).rejects.toBeInstanceOf(StoreError);
    await expect(layer.claim('b')).rejects.toBeInstanceOf(StoreError);
    await expect(b.manager.read('layer')).rejects.toBeInstanceOf(StoreError);
  });

  it('rejects also when a store throws where it should reject', QUICK, async () => {
    b.store.commitMany = () => {
      throw new StoreError('STORE_UNAVAILABLE', 'commit', 'not open');
    };
    await expect(layer.acquire('a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it('refuses a command that cannot be decided, and goes on with the next', QUICK, async () => {
    vi.spyOn(b.clock, 'wallMs').mockImplementationOnce(() => {
      throw new Error('a broken invariant');
    });
    await expect(layer.acquire('a')).rejects.toThrow('a broken invariant');
    expect(await layer.acquire('a')).toMatchObject({ kind: 'acquired' });
  });

  it('has shut down for everybody who asked when the last commit is answered', QUICK, async () => {
    const gate = deferred<CommitOutcome>();
    b.store.onCommit = () => gate.promise;
    const asked = layer.acquire('a');
    await settled();
    const shutDowns = [b.manager.beforeApplicationShutdown(), b.manager.beforeApplicationShutdown()];
    let isOver = false;
    const all = Promise.all(shutDowns).then(() => (isOver = true));
    await settled();
    expect(isOver).toBe(false);
    gate.resolve({ status: 'committed', revision: 1 });
    await asked;
    await all;
  });

  it('gives up when others change the resource again and again', async () => {
    await layer.acquire('a');
    b.store.onCommit = () => Promise.resolve({ status: 'conflict' });
    await expect(layer.acquire('b')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(b.store.commits.length).toBeLessThan(100);
  });
});

describe('LockManager when it does not know whether a commit was made', () => {
  let b: Bench;
  let layer: Layer;

  beforeEach(async () => {
    b = await bench();
    layer = b.layer;
  });

  /** The next commit's answer is lost; what becomes of the commit is up to the test. */
  const loseNext = (fate: (commit: () => Promise<CommitOutcome>) => Promise<unknown>) => {
    b.store.onCommit = async (_writes, commit) => {
      b.store.onCommit = undefined;
      await fate(commit);
      return UNKNOWN;
    };
  };

  it('recognises one that was made', async () => {
    loseNext((commit) => commit());
    const token = await layer.grant('a');
    expect(b.store.commits).toHaveLength(1);
    expect(b.events).toMatchObject([{ name: 'granted', token }]);
    loseNext((commit) => commit());
    expect(await layer.succeed('a')).toMatchObject({ kind: 'released' });
    expect(b.events).toHaveLength(2);
  });

  it('makes one again that was not', async () => {
    loseNext(async () => undefined);
    const token = await layer.grant('a');
    expect(b.store.commits).toHaveLength(2);
    expect(b.events).toMatchObject([{ name: 'granted', token }]);
  });

  it.each([
    { from: 'the feed', heldBack: 0, commits: 3 },
    { from: 'the record, when the feed is behind', heldBack: 1, commits: 4 },
  ])(
    'recognises one that was made only after it was looked for, from $from',
    async ({ heldBack, commits }) => {
      b = await bench({}, { clock: b.clock, store: new FaultyStore(b.store.inner, () => 0, { heldBack }) });
      await b.layer.acquire('a');
      await b.layer.acquire('b');
      let late: (() => Promise<CommitOutcome>) | undefined;
      loseNext(async (commit) => (late = commit));
      b.store.onGet = async (_keys, get) => {
        const items = await get();
        if (late) await late();
        return items;
      };
      expect(await b.layer.withdraw('b')).toEqual({ kind: 'noted', changed: true });
      expect(b.store.commits).toHaveLength(commits);
      expect(await b.layer.waiting()).toEqual([]);
    },
  );

  it('is not fooled by one that comes too late', async () => {
    await layer.acquire('a');
    let late!: () => Promise<CommitOutcome>;
    loseNext(async (commit) => (late = commit));
    expect(await layer.fail('a')).toEqual({ kind: 'released', nextHolder: undefined });
    expect(await late()).toEqual({ status: 'conflict' });
    expect(b.events.map(({ name }) => name)).toEqual(['granted', 'released']);
  });

  it('answers those who were in it from it, and those who came later from the next', async () => {
    await layer.acquire('a');
    const gate = deferred();
    loseNext(async (commit) => {
      await gate.promise;
      await commit();
    });
    const early = layer.acquire('b');
    await settled();
    const later = layer.acquire('c');
    gate.resolve();
    expect(await early).toMatchObject({ kind: 'queued', position: 1 });
    expect(await later).toMatchObject({ kind: 'queued', position: 2 });
    expect(b.events.map(({ name }) => name)).toEqual(['granted', 'queued', 'queued']);
  });

  it('knows it from the feed even when others have written since', async () => {
    const other = await bench({}, { clock: b.clock, store: b.store.inner });
    await layer.acquire('a');
    await layer.acquire('b');
    loseNext(async (commit) => {
      await commit();
      await other.layer.acquire('c');
    });
    expect(await layer.withdraw('b')).toEqual({ kind: 'noted', changed: true });
    expect(await layer.waiting()).toEqual(['c']);
  });

  describe('and others have written since, and the feed is behind', () => {
    let other: Bench;
    let feed: FaultyStore;

    beforeEach(async () => {
      other = await bench({}, { clock: b.clock, store: b.store.inner });
      feed = new FaultyStore(b.store.inner, () => 0, { heldBack: 1 });
      b = await bench({}, { clock: b.clock, store: feed });
      layer = b.layer;
    });

    it('waits for the feed, and does not do twice what was asked for once', async () => {
      loseNext(async (commit) => {
        await commit();
        await other.layer.acquire('b');
        await other.layer.fail('a');
      });
      const granted = layer.acquire('a');
      await settled();
      feed.deliver();
      expect(await granted).toMatchObject({ kind: 'acquired' });
      expect(await other.layer.holder()).toBe('b');
      expect(await other.layer.waiting()).toEqual([]);
    });

    it('tries again when the feed shows that it was not made', async () => {
      loseNext(() => other.layer.acquire('b'));
      const queued = layer.acquire('a');
      await settled();
      feed.deliver();
      expect(await queued).toMatchObject({ kind: 'queued', position: 1 });
    });

    it('says that it does not know when the feed was compacted, or stays away', async () => {
      for (const happens of [() => feed.compact(), () => b.clock.advance(3000)]) {
        loseNext(async (commit) => {
          await commit();
          await other.layer.acquire('b');
        });
        const lost = layer.acquire('a');
        const told = expect(lost).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
        await settled();
        await happens();
        await told;
        await other.layer.fail('a');
        await other.layer.fail('b');
      }
    });
  });

  it('watches a hold that was granted although nobody could be told', async () => {
    await layer.acquire('a', { leaseMs: 1000 });
    await layer.acquire('b', { leaseMs: 1000 });
    loseNext((commit) => commit());
    b.store.onGet = () => Promise.reject(new StoreError('STORE_UNAVAILABLE', 'get', 'down'));
    await expect(layer.fail('a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    b.store.onGet = undefined;
    expect(await layer.holder()).toBe('b');
    await b.clock.advance(1000);
    expect(await layer.holder()).toBeUndefined();
  });
});
