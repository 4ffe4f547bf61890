import { describe, expect, it } from 'vitest';
import { FaultyStore } from '../../test/support/faulty-store.js';
import { bench, deferred } from '../../test/support/layer.js';
import { settled, SimulatedClock } from '../../test/support/simulated-clock.js';
import { MemoryStateStore } from '../stores/memory/memory-state-store.js';
import { type LockPolicy } from './lock-policy.js';

/** Managers over one shared store; each expires as late after the moment as its number says, from 0 to 1. */
async function instances(chances: readonly number[], policy: Partial<LockPolicy> = {}) {
  const clock = new SimulatedClock();
  const inner = new MemoryStateStore(clock);
  await inner.open();
  return Promise.all(
    chances.map(async (chance) => {
      const store = new FaultyStore(inner, () => 0, {}, true);
      return { ...(await bench(policy, { clock, store, random: () => chance })), connection: store };
    }),
  );
}

describe('Several managers over one store', () => {
  it('do not all write when the time of something is up: the first is seen by the others', async () => {
    const managers = await instances([0.8, 0.2, 0.5]);
    const [a, b, c] = managers as [(typeof managers)[0], (typeof managers)[0], (typeof managers)[0]];
    await a.layer.acquire('n1', { leaseMs: 5000 });
    await b.layer.acquire('n2');
    const before = managers.map(({ store }) => store.commits.length);
    await a.clock.advance(5000);
    expect(await a.layer.holder(), 'nobody is early').toBe('n1');
    await a.clock.advance(250);
    expect(await c.layer.holder()).toBe('n2');
    expect(managers.map(({ store }, i) => store.commits.length - before[i]!)).toEqual([0, 1, 0]);
  });

  it('expire once what they try to expire in the same instant', async () => {
    const [a, b] = await instances([0.5, 0.5]);
    await a!.layer.acquire('n1', { leaseMs: 5000 });
    for (const node of ['n2', 'n3']) await b!.layer.acquire(node);
    await a!.clock.advance(5300);
    expect(await a!.layer.holder()).toBe('n2');
    expect(a!.events.filter(({ name }) => name === 'expired')).toHaveLength(1);
  });

  it('leave their deadlines alone while the changes of the store are not seen', async () => {
    const [a, b] = await instances([0, 0]);
    b!.connection.cutOff();
    await a!.layer.acquire('n1', { leaseMs: 5000 });
    await a!.layer.acquire('n2');
    await a!.clock.advance(4000);
    a!.connection.interrupt();
    expect(a!.manager.isWatching).toBe(false);
    await a!.clock.advance(60_000);
    expect(await a!.layer.holder()).toBe('n1');
    a!.connection.resume();
    expect(a!.manager.isWatching).toBe(true);
    await a!.clock.advance(999);
    expect(await a!.layer.holder()).toBe('n1');
    await a!.clock.advance(1);
    expect(await a!.layer.holder()).toBe('n2');
  });

  it('count no time between a compaction and the end of the listing after it', async () => {
    const [a] = await instances([0]);
    await a!.layer.acquire('n1', { leaseMs: 5000 });
    const slow = deferred();
    a!.store.onList = () => slow.promise.then(() => Promise.reject(new Error('away')));
    a!.connection.compact();
    await a!.clock.advance(60_000);
    expect(a!.manager.isWatching, 'while it is listed').toBe(false);
    slow.resolve();
    await a!.clock.advance(60_000);
    expect(a!.manager.isWatching, 'after a listing that failed').toBe(false);
    expect(await a!.layer.holder()).toBe('n1');
    a!.store.onList = undefined;
    await a!.clock.advance(1000);
    expect(a!.manager.isWatching).toBe(true);
    await a!.clock.advance(5000);
    expect(await a!.layer.holder()).toBeUndefined();
  });

  it('keep a waiter that any of them has heard of within its time', async () => {
    const [a, b] = await instances([0, 0], { waiterTtlMs: 1000 });
    await a!.layer.acquire('n1', { leaseMs: 0 });
    await a!.layer.acquire('n2');
    await a!.clock.advance(450);
    await b!.layer.acquire('n2');
    await a!.clock.advance(950);
    expect(await a!.layer.waiting(), 'it asked at the second less than its time ago').toEqual(['n2']);
    for (let asks = 0; asks < 10; asks++) {
      await b!.layer.acquire('n2');
      await a!.clock.advance(900);
    }
    expect(await a!.layer.waiting()).toEqual(['n2']);
    await a!.clock.advance(1500);
    expect(await a!.layer.waiting()).toEqual([]);
  });

  it('find a reference that was made at another before they were asked, although they have not seen it yet', async () => {
    const [a, b] = await instances([0, 0]);
    b!.connection.faults = { heldBack: 1 };
    await a!.manager.execute('layer', { kind: 'add-reference', nodeId: 'n1' });
    const found = b!.manager.referencedBy('n1');
    await b!.clock.advance(5000);
    b!.connection.deliver();
    expect(await found).toEqual(['layer']);
  });

  it('do not say what a node refers to while they cannot see it', async () => {
    const [a, b] = await instances([0, 0]);
    b!.connection.faults = { heldBack: 1 };
    await a!.manager.execute('layer', { kind: 'add-reference', nodeId: 'n1' });
    const found = b!.manager.referencedBy('n1');
    const failing = expect(found).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await settled();
    await b!.clock.advance(6000);
    await failing;
  });
});
