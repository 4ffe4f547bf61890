import { beforeEach, describe, expect, it } from 'vitest';
import { fnv1a } from '../core/fnv1a.js';
import { bench, type Bench, deferred, Layer } from '../../test/support/layer.js';
import { settled } from '../../test/support/simulated-clock.js';
import { headKey } from './records/item-keys.js';

const SHARDS = 32;

const nodes = (count: number) => Array.from({ length: count }, (_, i) => `node-${i}`);

describe('LockManager', () => {
  let b: Bench;
  let layer: Layer;

  beforeEach(async () => {
    b = await bench();
    layer = b.layer;
  });

  it('lets one node through, queues the others, and dismisses them on success', async () => {
    const [first, second, third] = await Promise.all(['a', 'b', 'c'].map((node) => layer.acquire(node)));
    expect(first).toMatchObject({ kind: 'acquired' });
    expect(second).toMatchObject({ kind: 'queued', position: 1 });
    expect(third).toMatchObject({ kind: 'queued', position: 2 });
    expect(await layer.succeed('a')).toEqual({ kind: 'released', nextHolder: undefined });
    expect(await layer.acquire('b')).toMatchObject({ kind: 'skipped', nodeId: 'a', referenceCount: 3 });
    expect(b.events.map((event) => event.name)).toEqual(['granted', 'queued', 'queued', 'completed']);
  });

  it('hands the lock to the next in line on failure, with a greater token', async () => {
    const token = await layer.grant('a');
    await layer.acquire('b');
    expect(await layer.fail('a')).toEqual({ kind: 'released', nextHolder: 'b' });
    expect(await layer.grant('b')).toBeGreaterThan(token);
  });

  it('lets a thousand nodes arrive at one layer in a handful of commits', async () => {
    const names = nodes(1000).map((name) => name.slice(0, 12));
    const answers = await Promise.all(names.map((node) => layer.acquire(node)));
    expect(answers.filter(({ kind }) => kind === 'acquired')).toHaveLength(1);
    expect(answers.slice(1).map((answer) => 'position' in answer && answer.position)).toEqual(
      names.slice(1).map((_, i) => i + 1),
    );
    expect(b.store.commits.length).toBeLessThanOrEqual(10);
  });

  it('gives every grant of a resource a token of its own, also when they are asked for at once', async () => {
    const types = ['pull', 'update', 'delete', 'scan'];
    const answers = await Promise.all(types.map((type) => layer.acquire('a', { type })));
    const tokens = answers.map((answer) => ('token' in answer ? answer.token : 0));
    expect(new Set(tokens).size).toBe(4);
    expect(tokens.toSorted((a, c) => a - c)).toEqual(tokens);
  });

  it('costs no write, and one reading, to ask again while waiting', async () => {
    await layer.acquire('a');
    await layer.acquire('b');
    const { length } = b.store.commits;
    const { gets } = b.store;
    const asks = await Promise.all(Array.from({ length: 50 }, () => layer.acquire('b')));
    expect(new Set(asks.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(b.store.commits).toHaveLength(length);
    expect(b.store.gets).toBe(gets + 1);
  });

  it('tells each of ten thousand dismissed waiters once', async () => {
    const scan = { type: 'scan' };
    await layer.acquire('worker', scan);
    const names = nodes(10_000);
    const queued = await Promise.all(names.map((node) => layer.acquire(node, scan)));
    expect(queued.every(({ kind }) => kind === 'queued')).toBe(true);
    expect(await layer.acquire('one too many', scan)).toMatchObject({ kind: 'refused', code: 'QUEUE_FULL' });
    await layer.succeed('worker', scan);
    const told = await Promise.all(names.map((node) => layer.acquire(node, scan)));
    expect(told.every(({ kind }) => kind === 'skipped')).toBe(true);
    const again = await Promise.all(names.slice(0, 50).map((node) => layer.acquire(node, scan)));
    expect(again.filter(({ kind }) => kind === 'skipped')).toEqual([]);
    expect(b.events.filter(({ name }) => name === 'completed')).toMatchObject([{ dismissed: 10_000 }]);
  });
});

describe('LockManager with one resource whose commit does not end', () => {
  const shardOf = (id: string) => fnv1a(id) % SHARDS;
  const ids = Array.from({ length: 5000 }, (_, i) => `layer-${i}`);
  const [blocked, ...rest] = ids as [string, ...string[]];
  const inSameShard = rest.filter((id) => shardOf(id) === shardOf(blocked)).slice(0, 32);
  const elsewhere = rest.filter((id) => shardOf(id) !== shardOf(blocked)).slice(0, 32);

  it('serves all others, in its shard and in the others, and lets it be read', async () => {
    const b = await bench();
    const gate = deferred();
    b.store.onCommit = async (writes, commit) => {
      if (writes.some(({ key }) => key === headKey(blocked))) await gate.promise;
      return commit();
    };
    let answered = false;
    const stuck = new Layer(b.manager, blocked).acquire('a').finally(() => (answered = true));
    expect([inSameShard.length, elsewhere.length]).toEqual([32, 32]);
    for (const id of [...inSameShard, ...elsewhere]) {
      const other = new Layer(b.manager, id);
      expect(await other.acquire('a')).toMatchObject({ kind: 'acquired' });
      expect(await other.succeed('a')).toMatchObject({ kind: 'released' });
    }
    expect((await b.manager.read(blocked)).keys).toEqual([]);
    expect(answered).toBe(false);
    gate.resolve();
    expect(await stuck).toMatchObject({ kind: 'acquired' });
  });

  it('combines what arrives meanwhile into the next commit', async () => {
    const b = await bench();
    const gate = deferred();
    b.store.onCommit = (_writes, commit) => gate.promise.then(commit);
    const asking = nodes(100).map((node) => b.layer.acquire(node));
    await settled();
    const meanwhile = nodes(200)
      .slice(100)
      .map((node) => b.layer.acquire(node));
    await settled();
    expect(b.store.commits).toHaveLength(1);
    gate.resolve();
    await Promise.all([...asking, ...meanwhile]);
    expect(b.store.commits.length).toBeLessThanOrEqual(4);
  });
});

describe('LockManager and what it leaves behind', { timeout: 15_000 }, () => {
  it('keeps nothing once outcomes are forgotten, and still gives a greater token next time', async () => {
    const b = await bench({ refcountMode: 'client' });
    let newest = 0;
    for (let round = 0; round < 3; round++) {
      const token = await b.layer.grant('a');
      expect(token).toBeGreaterThan(newest);
      newest = token;
      await b.layer.acquire('b');
      await b.layer.succeed('a');
      await b.clock.advance(300_000 * (1 + 1 / 16) + 250);
      expect([b.manager.size, b.manager.watched]).toEqual([0, 0]);
      expect(await b.store.keys()).toEqual([]);
      expect(b.clock.pendingTimers).toBeLessThanOrEqual(1);
    }
  });

  it('keeps an empty record for the events of its last commit, whoever looks at it, and then drops it', async () => {
    const b = await bench();
    const token = await b.layer.grant('a');
    const expiry = { kind: 'expire-hold', type: 'pull', token, renewed: token, error: 'silent' } as const;
    await b.manager.execute('layer', expiry);
    await b.layer.claim('a');
    expect(await b.store.keys()).toHaveLength(1);
    await b.clock.advance(299_000);
    await b.layer.claim('a');
    expect(await b.store.keys()).toHaveLength(1);
    await b.clock.advance(1000);
    expect(await b.store.keys()).toEqual([]);
    expect([b.manager.size, b.manager.watched]).toEqual([0, 0]);
  });

  it('keeps nothing in memory of a resource that was only asked about', async () => {
    const b = await bench();
    await b.layer.claim('a');
    await b.layer.fail('a');
    await b.manager.read('layer');
    expect(b.manager.size).toBe(0);
    expect(b.store.commits).toEqual([]);
  });
});
