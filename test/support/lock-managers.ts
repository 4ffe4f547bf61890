import { type Clock } from '../../src/common/clock.interface.js';
import { LockManager } from '../../src/locking/lock-manager.js';
import { type LockPolicy } from '../../src/locking/lock-policy.js';
import { type RefCountStorage } from '../../src/refcount/ref-count-storage.interface.js';
import { type StateStore } from '../../src/stores/state-store.interface.js';
import { EventBus } from '../../src/subscriptions/event-bus.js';
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

/** A manager over a store that is open. */
export async function startManager(
  store: StateStore,
  clock: Clock,
  policy: Partial<LockPolicy> = {},
  refCounts?: RefCountStorage,
): Promise<StartedManager> {
  const bus = new EventBus();
  const manager = new LockManager(store, clock, { ...DEFAULT_LOCK_POLICY, ...policy }, bus, refCounts);
  await manager.onModuleInit();
  return { manager, bus };
}
