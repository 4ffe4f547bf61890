import { describe, expect, it } from 'vitest';
import { type Command } from '../core/commands.js';
import { MemoryStateStore } from '../stores/memory/memory-state-store.js';
import { DEFAULT_LOCK_POLICY, RestAtOnce, startManager } from '../../test/support/lock-managers.js';
import { settled, SimulatedClock } from '../../test/support/simulated-clock.js';
import { RecentSlots } from './recent-slots.js';
import { type ResourceSlot } from './resource-slot.js';

const LAYER = 'sha256:layer';
const a = { nodeId: 'a' };
const b = { nodeId: 'b' };
const acquire = (asker: { nodeId: string }, type = 'pull', leaseMs = 60_000): Command => {
  return { kind: 'acquire', type, asker, leaseMs };
};

/** A manager whose slots rest as soon as they can, and the slots it has let go. */
async function restingManager() {
  const seen = new Map<string, ResourceSlot>();
  class Watched extends RestAtOnce {
    override use(slot: ResourceSlot): void {
      super.use(slot);
      seen.set(slot.resourceId, slot);
    }
  }
  const clock = new SimulatedClock();
  const store = new MemoryStateStore(clock);
  await store.open();
  const { manager } = await startManager(store, clock, {}, undefined, new Watched());
  const execute = async (command: Command) => {
    await manager.execute(LAYER, command);
    await settled();
  };
  return { manager, execute, clock, slot: () => seen.get(LAYER)! };
}

describe('a slot at rest', () => {
  it('is one with a hold that nobody asks for', async () => {
    const { execute, slot } = await restingManager();
    await execute(acquire(a));
    expect(slot().isResting).toBe(true);
  });

  it('is one with references only', async () => {
    const { manager, execute, slot } = await restingManager();
    await execute({ kind: 'add-reference', nodeId: 'a' });
    expect(slot().isResting).toBe(true);
    expect(manager.peek(LAYER)!.references.size).toBe(1);
  });

  it('is none with a waiter, whose silence must be watched', async () => {
    const { manager, execute, slot } = await restingManager();
    await execute(acquire(a));
    await execute(acquire(b));
    expect(slot().isResting).toBe(false);
    expect(manager.waiting).toBe(1);
  });

  it('is none with an outcome to forget in time', async () => {
    const { execute, slot, clock } = await restingManager();
    await execute(acquire(a));
    await execute({ kind: 'add-reference', nodeId: 'a' });
    await execute({
      kind: 'release',
      type: 'pull',
      asker: a,
      success: true,
      error: '',
      fatal: false,
    });
    expect(slot().isResting).toBe(false);
    await clock.advance(DEFAULT_LOCK_POLICY.completionTtlMs * 2);
    expect(slot().isResting).toBe(true);
  });

  it('is none with two holds: one clock could not tell when each began', async () => {
    const { execute, slot } = await restingManager();
    await execute(acquire(a));
    await execute(acquire(a, 'update'));
    expect(slot().isResting).toBe(false);
  });

  it('is none whose record is in several parts: its head alone could not tell it', async () => {
    const { execute, slot } = await restingManager();
    for (let i = 0; i < 20; i++) {
      await execute({ kind: 'add-reference', nodeId: `${i}`.padEnd(200, 'x') });
    }
    expect(slot().isResting).toBe(false);
  });

  it('shows its state without waking', async () => {
    const { manager, execute, slot } = await restingManager();
    await execute(acquire(a));
    expect(manager.peek(LAYER)!.keys[0]!.hold).toMatchObject({ nodeId: 'a', claimed: true });
    expect(manager.revisionOf(LAYER)).toBe(manager.peek(LAYER)!.keys[0]!.hold!.token);
    expect(slot().isResting).toBe(true);
  });

  it('wakes for a command with the time that has passed', async () => {
    const { manager, execute, clock, slot } = await restingManager();
    await execute(acquire(a));
    await clock.advance(40_000);
    await execute(acquire(b));
    expect(slot().isResting).toBe(false);
    await clock.advance(19_000);
    expect(manager.peek(LAYER)!.keys[0]!.hold).toMatchObject({ nodeId: 'a' });
    await clock.advance(2000);
    expect(manager.peek(LAYER)!.keys[0]!.hold).toMatchObject({ nodeId: 'b' });
  });

  it('loses its hold when the lease is over', async () => {
    const { manager, execute, clock, slot } = await restingManager();
    await execute(acquire(a));
    await clock.advance(59_000);
    expect(manager.peek(LAYER)!.keys).toHaveLength(1);
    expect(slot().isResting).toBe(true);
    await clock.advance(2000);
    expect(manager.peek(LAYER)?.keys ?? []).toEqual([]);
  });
});

describe('RecentSlots', () => {
  it('lets the one rest that was not used for longest', async () => {
    const clock = new SimulatedClock();
    const store = new MemoryStateStore(clock);
    await store.open();
    const slots = new Map<string, ResourceSlot>();
    class Watched extends RecentSlots {
      override use(slot: ResourceSlot): void {
        slots.set(slot.resourceId, slot);
        super.use(slot);
      }
    }
    const { manager } = await startManager(store, clock, {}, undefined, new Watched(3));
    const use = async (name: string) => {
      await manager.execute(name, acquire(a));
      await settled();
    };
    const resting = () => [...slots.values()].filter((slot) => slot.isResting).map((slot) => slot.resourceId);
    for (const name of ['one', 'two', 'three', 'one', 'four']) await use(name);
    expect(resting()).toEqual(['two']);
    await use('two');
    expect(resting()).toEqual(['three']);
  });
});
