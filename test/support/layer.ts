import {
  type Acquire,
  type Claim,
  type Release,
  type Renew,
  type ResultOf,
  type Withdraw,
} from '../../src/core/commands.js';
import { type LockEvent } from '../../src/core/events.js';
import { type AcquireResult } from '../../src/core/results.js';
import { type LockManager } from '../../src/locking/lock-manager.js';
import { type LockPolicy } from '../../src/locking/lock-policy.js';
import { type RefCountStorage } from '../../src/refcount/ref-count-storage.interface.js';
import { MemoryStateStore } from '../../src/stores/memory/memory-state-store.js';
import { type StateStore } from '../../src/stores/state-store.interface.js';
import { type EventBus, type Gap } from '../../src/subscriptions/event-bus.js';
import { type Random } from '../../src/common/random.interface.js';
import { startManager } from './lock-managers.js';
import { SimulatedClock } from './simulated-clock.js';
import { WrappedStore } from './wrapped-store.js';

type Options<C> = Partial<Omit<C, 'kind' | 'asker'>>;

/** One resource of a manager, in the words of those who use it. Pulls unless told otherwise. */
export class Layer {
  constructor(
    readonly manager: LockManager,
    readonly id = 'layer',
  ) {}

  acquire(nodeId: string, options: Options<Acquire> = {}): Promise<AcquireResult> {
    return this.manager.execute(this.id, { kind: 'acquire', type: 'pull', asker: { nodeId }, ...options });
  }

  /** Acquires and expects the lock; gives the token. */
  async grant(nodeId: string, options: Options<Acquire> = {}): Promise<number> {
    const result = await this.acquire(nodeId, options);
    if (result.kind !== 'acquired') throw new Error(`expected the lock, got ${JSON.stringify(result)}`);
    return result.token;
  }

  succeed(nodeId: string, options: Options<Release> = {}): Promise<ResultOf<Release>> {
    const outcome = { success: true, error: '', fatal: false };
    return this.manager.execute(this.id, {
      kind: 'release',
      type: 'pull',
      asker: { nodeId },
      ...outcome,
      ...options,
    });
  }

  fail(nodeId: string, options: Options<Release> = {}): Promise<ResultOf<Release>> {
    return this.succeed(nodeId, { success: false, error: 'boom', ...options });
  }

  renew(nodeId: string, options: Options<Renew> = {}): Promise<ResultOf<Renew>> {
    return this.manager.execute(this.id, { kind: 'renew', type: 'pull', asker: { nodeId }, ...options });
  }

  claim(nodeId: string): Promise<ResultOf<Claim>> {
    return this.manager.execute(this.id, { kind: 'claim', type: 'pull', asker: { nodeId } });
  }

  withdraw(nodeId: string, options: Options<Withdraw> = {}): Promise<ResultOf<Withdraw>> {
    const command = { kind: 'withdraw', type: 'pull', asker: { nodeId }, error: 'cancelled' } as const;
    return this.manager.execute(this.id, { ...command, ...options });
  }

  async holder(type = 'pull'): Promise<string | undefined> {
    const { keys } = await this.manager.read(this.id);
    return keys.find((key) => key.type === type)?.hold?.nodeId;
  }

  async waiting(): Promise<string[]> {
    const { keys } = await this.manager.read(this.id);
    return keys.flatMap(({ lanes }) => lanes.flatMap(({ waiters }) => Array.from(waiters, (w) => w.nodeId)));
  }
}

export interface Bench {
  readonly clock: SimulatedClock;
  readonly store: WrappedStore;
  readonly manager: LockManager;
  readonly layer: Layer;
  /** What the manager has published, in order. */
  readonly events: LockEvent[];
  /** Where it has missed something. */
  readonly gaps: Gap[];
  readonly bus: EventBus;
}

/** A manager over a store that the test can step into; over the same one again, if given. */
export async function bench(
  policy: Partial<LockPolicy> = {},
  over: { clock?: SimulatedClock; store?: StateStore; refCounts?: RefCountStorage; random?: Random } = {},
): Promise<Bench> {
  const clock = over.clock ?? new SimulatedClock();
  const store = new WrappedStore(over.store ?? new MemoryStateStore(clock));
  if (!over.store) await store.open();
  const { manager, bus } = await startManager(store, clock, policy, over.refCounts, undefined, over.random);
  const events: LockEvent[] = [];
  bus.events$.subscribe((all) => events.push(...all.flatMap((batch) => batch.events)));
  const gaps: Gap[] = [];
  bus.gaps$.subscribe((gap) => gaps.push(gap));
  return { clock, store, manager, layer: new Layer(manager), events, gaps, bus };
}

/** A promise and the means to keep it. */
export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((keep) => (resolve = keep));
  return { promise, resolve };
}

/** Names so long that a few of them are too many for the head of a record. */
export function longName(i: number): string {
  return `${'長'.repeat(200)}${i}`;
}
