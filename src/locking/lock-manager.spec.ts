import { beforeEach, describe, expect, it } from 'vitest';
import { type LockEvent } from '../core/events.js';
import { MemoryStateStore } from '../stores/memory/memory-state-store.js';
import { startManager } from '../../test/support/lock-managers.js';
import { SimulatedClock } from '../../test/support/simulated-clock.js';
import { type LockManager } from './lock-manager.js';

const pull = { type: 'pull' } as const;
const success = { success: true, error: '', fatal: false } as const;
const failure = { success: false, error: 'boom', fatal: false } as const;

describe('LockManager', () => {
  let clock: SimulatedClock;
  let store: MemoryStateStore;
  let manager: LockManager;
  let events: LockEvent[];

  beforeEach(async () => {
    clock = new SimulatedClock();
    store = new MemoryStateStore(clock);
    await store.open();
    const started = await startManager(store, clock);
    manager = started.manager;
    events = [];
    started.bus.events$.subscribe((batch) => events.push(...batch.events));
  });

  const acquire = (nodeId: string) =>
    manager.execute('layer', { kind: 'acquire', ...pull, asker: { nodeId } });
  const release = (nodeId: string, outcome: typeof success | typeof failure) =>
    manager.execute('layer', { kind: 'release', ...pull, asker: { nodeId }, ...outcome });

  it('lets one node through, queues the others, and dismisses them on success', async () => {
    const [a, b, c] = await Promise.all([acquire('a'), acquire('b'), acquire('c')]);
    expect(a).toMatchObject({ kind: 'acquired' });
    expect(b).toMatchObject({ kind: 'queued', position: 1 });
    expect(c).toMatchObject({ kind: 'queued', position: 2 });
    expect(await release('a', success)).toEqual({ kind: 'released', nextHolder: undefined });
    expect(await acquire('b')).toMatchObject({ kind: 'skipped', nodeId: 'a', referenceCount: 3 });
    expect(events.map((event) => event.name)).toEqual(['granted', 'queued', 'queued', 'completed']);
  });

  it('hands the lock to the next in line on failure, with a greater token', async () => {
    const a = await acquire('a');
    await acquire('b');
    expect(await release('a', failure)).toEqual({ kind: 'released', nextHolder: 'b' });
    const b = await acquire('b');
    if (a.kind !== 'acquired' || b.kind !== 'acquired') throw new Error('both should have been granted');
    expect(b.token).toBeGreaterThan(a.token);
  });
});
