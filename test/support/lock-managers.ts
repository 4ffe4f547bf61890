import { type Clock } from '../../src/common/clock.interface.js';
import { LockManager } from '../../src/locking/lock-manager.js';
import { type LockPolicy } from '../../src/locking/lock-policy.js';
import { RecentSlots } from '../../src/locking/recent-slots.js';
import { type ResourceSlot } from '../../src/locking/resource-slot.js';
import { type RefCountStorage } from '../../src/refcount/ref-count-storage.interface.js';
import { type StateStore } from '../../src/stores/state-store.interface.js';
import { EventBus } from '../../src/subscriptions/event-bus.js';
import { type Random } from '../../src/common/random.interface.js';
import { DEFAULT_POLICY } from './default-policy.js';

/** The defaults of the design */
export const DEFAULT_LOCK_POLICY: LockPolicy = {
  ...DEFAULT_POLICY,
  shardCount: 32,
  claimTimeoutMs: 10_000,
  waiterTtlMs: 600_000,
  completionTtlMs: 300_000,
};

export interface StartedManager {
  readonly manager: LockManager;
  readonly bus: EventBus;
}

/** Lets every slot that can rest do so at once. */
export class RestAtOnce extends RecentSlots {
  override use(slot: ResourceSlot): void {
    slot.rest();
  }
}

/** A manager over a store that is open. */
export async function startManager(
  store: StateStore,
  clock: Clock,
  policy: Partial<LockPolicy> = {},
  refCounts?: RefCountStorage,
  recent?: RecentSlots,
  random?: Random,
): Promise<StartedManager> {
  const bus = new EventBus(clock);
  const all = { ...DEFAULT_LOCK_POLICY, ...policy };
  const manager = new LockManager(store, clock, all, bus, refCounts, recent, random);
  await manager.onModuleInit();
  return { manager, bus };
}
