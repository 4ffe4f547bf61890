import { beforeEach, describe, expect, it } from 'vitest';
import { StoreError } from '../stores/store.error.js';
import { bench, type Bench, deferred, Layer } from '../../test/support/layer.js';
import { settled } from '../../test/support/simulated-clock.js';

const YEAR_MS = 365 * 86_400_000;

describe('LockManager: deadlines', { timeout: 15_000 }, () => {
  let b: Bench;
  let layer: Layer;

  beforeEach(async () => {
    b = await bench();
    layer = b.layer;
  });

  it('hands the lock over when a lease ends without a renewal', async () => {
    await layer.acquire('a', { leaseMs: 5000 });
    await layer.acquire('b');
    await b.clock.advance(4000);
    await layer.renew('a');
    await b.clock.advance(4999);
    expect(await layer.holder()).toBe('a');
    await b.clock.advance(1);
    expect(await layer.holder()).toBe('b');
    expect(b.events.map(({ name }) => name)).toEqual(['granted', 'queued', 'expired', 'assigned']);
  });

  it('passes over a waiter that does not claim what it was handed', async () => {
    await layer.acquire('a');
    await layer.acquire('b');
    await layer.acquire('c');
    await layer.fail('a');
    await b.clock.advance(9999);
    expect(await layer.holder()).toBe('b');
    await b.clock.advance(1);
    expect(await layer.holder()).toBe('c');
    await layer.claim('c');
    await b.clock.advance(60_000);
    expect(await layer.holder()).toBe('c');
  });

  it('drops a waiter that is not heard of, and keeps one that asks', async () => {
    await layer.acquire('a', { leaseMs: 0 });
    await layer.acquire('silent');
    await layer.acquire('asking');
    await b.clock.advance(299_000);
    const { length } = b.store.commits;
    await layer.acquire('asking');
    expect(b.store.commits, 'an early request is not written').toHaveLength(length);
    await b.clock.advance(301_000);
    expect(await layer.waiting()).toEqual(['asking']);
    await b.clock.advance(298_000);
    await layer.acquire('asking');
    expect(b.store.commits.length, 'a late one is').toBeGreaterThan(length + 1);
    await b.clock.advance(599_000);
    expect(await layer.waiting()).toEqual(['asking']);
    await b.clock.advance(1000);
    expect(await layer.waiting()).toEqual([]);
  });

  it('starts every deadline again in full after a restart', async () => {
    await layer.acquire('a', { leaseMs: 5000 });
    await layer.acquire('b');
    await b.clock.advance(4000);
    await b.manager.beforeApplicationShutdown();
    const next = await bench({}, { clock: b.clock, store: b.store });
    await b.clock.advance(4999);
    expect(await next.layer.holder()).toBe('a');
    await b.clock.advance(1);
    expect(await next.layer.holder()).toBe('b');
    expect(
      b.events.map(({ name }) => name),
      'who was stopped does nothing',
    ).toEqual(['granted', 'queued']);
  });

  it('expires nobody because its process was stopped, and counts on afterwards', async () => {
    await layer.acquire('a', { leaseMs: 5000 });
    await layer.acquire('b');
    await b.clock.advance(3000);
    await b.clock.pause(YEAR_MS);
    expect(await layer.holder()).toBe('a');
    await b.clock.advance(1250);
    expect(await layer.holder()).toBe('a');
    await b.clock.advance(750);
    expect(await layer.holder()).toBe('b');
  });

  it('expires nobody because the wall clock was set', async () => {
    await layer.acquire('a', { leaseMs: 5000 });
    await layer.acquire('b');
    for (const jump of [YEAR_MS, -2 * YEAR_MS]) {
      b.clock.setWall(b.clock.wallMs() + jump);
      await b.clock.advance(2000);
      expect(await layer.holder()).toBe('a');
      expect(await layer.acquire('c')).toMatchObject({ kind: 'queued' });
    }
    await b.clock.advance(1000);
    expect(await layer.holder()).toBe('b');
  });

  it('lets a renewal on its way win over the expiry it races', async () => {
    await layer.acquire('a', { leaseMs: 5000 });
    await layer.acquire('b');
    await b.clock.advance(4900);
    const gate = deferred();
    b.store.onCommit = (_writes, commit) => gate.promise.then(commit);
    const renewal = layer.renew('a');
    await b.clock.advance(500);
    b.store.onCommit = undefined;
    gate.resolve();
    expect(await renewal).toMatchObject({ kind: 'renewed' });
    await settled();
    expect(await layer.holder()).toBe('a');
    expect(b.events.map(({ name }) => name)).not.toContain('expired');
  });

  it('tries an expiry again after the store has failed it, at a bearable pace', async () => {
    await layer.acquire('a', { leaseMs: 5000 });
    await layer.acquire('b');
    b.store.onCommit = () => Promise.reject(new StoreError('STORE_UNAVAILABLE', 'commit', 'full'));
    const { length } = b.store.commits;
    await b.clock.advance(15_000);
    expect(await layer.holder()).toBe('a');
    expect(b.store.commits.length - length).toBeGreaterThanOrEqual(8);
    expect(b.store.commits.length - length).toBeLessThanOrEqual(11);
    b.store.onCommit = undefined;
    await b.clock.advance(1000);
    expect(await layer.holder()).toBe('b');
  });

  it('drops thousands of silent waiters with one command each', async () => {
    await layer.acquire('a', { leaseMs: 0 });
    await Promise.all(Array.from({ length: 3000 }, (_, i) => layer.acquire(`node-${i}`)));
    const commands = countCommands(b);
    b.store.onCommit = (_writes, commit) => settled().then(commit);
    await b.clock.advance(600_000);
    for (let turn = 0; turn < 50; turn++) await b.clock.advance(10);
    expect(await layer.waiting()).toEqual([]);
    expect(commands()).toBe(3000);
    expect(b.events.filter(({ name }) => name === 'withdrawn')).toHaveLength(3000);
  });

  it('forgets an outcome in its time, though the key is never quiet', async () => {
    const scan = { type: 'scan' };
    for (let second = 0; second < 700; second += 50) {
      await layer.acquire('a', scan);
      await layer.acquire(`b${second}`, scan);
      await layer.succeed('a', scan);
      await b.clock.advance(50_000);
      const { keys } = await b.manager.read('layer');
      expect(keys[0]!.dismissals.size).toBeLessThanOrEqual(7);
    }
  });
});

/** Counts the commands a manager gives itself from now on. */
function countCommands({ manager }: Bench): () => number {
  let commands = 0;
  const { shards } = manager as unknown as { shards: { submit: (...args: unknown[]) => unknown }[] };
  for (const shard of shards) {
    const submit = shard.submit.bind(shard);
    shard.submit = (...args) => {
      commands++;
      return submit(...args);
    };
  }
  return () => commands;
}
