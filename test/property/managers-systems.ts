import { type Command } from '../../src/core/commands.js';
import { type LockEvent } from '../../src/core/events.js';
import { checkState } from '../../src/core/invariants.js';
import { type Result } from '../../src/core/results.js';
import { type ResourceState } from '../../src/core/state.js';
import { waiters } from '../../src/core/queue.js';
import { type LockManager } from '../../src/locking/lock-manager.js';
import { type LockPolicy } from '../../src/locking/lock-policy.js';
import { readRecord } from '../../src/locking/record-reader.js';
import { MemoryStateStore } from '../../src/stores/memory/memory-state-store.js';
import { StoreError } from '../../src/stores/store.error.js';
import { FaultyStore, type Faults } from '../support/faulty-store.js';
import { RestAtOnce, startManager } from '../support/lock-managers.js';
import { type Random } from '../support/random.js';
import { settled, type SimulatedClock } from '../support/simulated-clock.js';

export interface Instance {
  readonly manager: LockManager;
  readonly store: FaultyStore;
  readonly events: { readonly resourceId: string; readonly event: LockEvent }[];
  /** Where it said that it may have missed events: how many of the resource it had published before. */
  readonly gaps: { readonly resourceId: string; readonly after: number }[];
  /** It has missed events: the feed it followed was compacted. */
  gap: boolean;
}

/** Several managers over one store, each with a faulty connection of its own. */
export class ManagerSystem {
  instances: Instance[] = [];
  readonly inner: MemoryStateStore;

  constructor(
    readonly clock: SimulatedClock,
    readonly policy: LockPolicy,
    private readonly random: Random,
    private readonly faults: Faults,
    private readonly shared = false,
  ) {
    this.inner = new MemoryStateStore(clock);
  }

  async start(count: number): Promise<this> {
    await this.inner.open();
    for (let index = 0; index < count; index++) this.instances.push(await this.newInstance());
    return this;
  }

  async newInstance(): Promise<Instance> {
    const store = new FaultyStore(this.inner, this.random, this.faults, this.shared);
    const recent = this.instances.length % 2 === 0 ? new RestAtOnce() : undefined;
    const { manager, bus } = await startManager(
      store,
      this.clock,
      this.policy,
      undefined,
      recent,
      this.random,
    );
    const events: Instance['events'] = [];
    const gaps: Instance['gaps'] = [];
    bus.gaps$.subscribe(({ concerns }) => {
      for (const resourceId of ['layer', 'other']) {
        const published = events.filter((entry) => entry.resourceId === resourceId);
        if (concerns(resourceId)) gaps.push({ resourceId, after: published.length });
      }
    });
    bus.events$.subscribe((all) => {
      for (const { resourceId, events: happened } of all)
        for (const event of happened) events.push({ resourceId, event });
    });
    return { manager, store, events, gaps, gap: false };
  }

  /** The process dies: nothing more is heard of it. */
  kill({ manager, store }: Instance): void {
    store.cutOff();
    void manager.beforeApplicationShutdown();
  }

  async restart(): Promise<void> {
    for (const [index, instance] of this.instances.entries()) {
      this.kill(instance);
      this.instances[index] = await this.newInstance();
    }
  }

  execute(index: number, resourceId: string, command: Command): Promise<Result> {
    return this.instances[index % this.instances.length]!.manager.execute(resourceId, command);
  }

  /** As a client does that asks again when nobody knows. What a manager waits for in the feed comes. */
  async executeSurely(index: number, resourceId: string, command: Command): Promise<Result> {
    for (;;) {
      const { store } = this.instances[index % this.instances.length]!;
      let pending = true;
      const result = this.execute(index, resourceId, command).finally(() => (pending = false));
      result.catch(() => undefined);
      for (await settled(); pending; await settled()) store.deliver();
      try {
        return await result;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
      }
    }
  }

  /** Lists again before time goes on: time in which a feed is not followed does not count for its manager. */
  async compact(index: number): Promise<void> {
    const instance = this.instances[index % this.instances.length]!;
    instance.gap = true;
    instance.store.compact();
    await settled();
  }

  /** No commit is on its way for longer than an empty record is kept: then it could find the key absent again. */
  async applyLate(): Promise<void> {
    for (const { store } of this.instances) await store.applyLate();
  }

  /** An expiry whose answer was lost, and which only the feed can tell about, is decided: it does not hang for seconds. */
  async endDoubts(): Promise<void> {
    for (const { store } of this.instances) store.deliver();
    await settled();
  }

  /** Everything late arrives, and everybody sees everything. */
  async catchUp(): Promise<void> {
    await this.applyLate();
    for (const { store } of this.instances) store.deliver();
  }

  /** As the store holds it, and sound. */
  async state(resourceId: string): Promise<ResourceState> {
    const { record } = await readRecord(this.inner, 0, resourceId);
    checkState(record.state, this.policy);
    return record.state;
  }

  async storedItems(): Promise<number> {
    let items = 0;
    const { pages } = await this.inner.list(0);
    for await (const page of pages) items += page.length;
    return items;
  }
}

/** What a state says, without the numbers that differ from store to store. */
export function viewOf(state: ResourceState, policy: LockPolicy): unknown {
  return {
    references: Array.from(state.references, ({ nodeId, sinceMs }) => [nodeId, sinceMs]),
    keys: state.keys
      .map((key) => ({
        type: key.type,
        hold: key.hold && {
          ...key.hold,
          token: 0,
          renewed: 0,
          ticket: key.hold.ticket !== undefined,
          acquiredAtMs: key.hold.ticket ? 0 : key.hold.acquiredAtMs,
        },
        queue: Array.from(waiters(key, policy), (waiter) => ({ ...waiter, ticket: 0, renewed: 0 })),
        success: key.success && { ...key.success, token: 0, moment: 0 },
        failure: key.failure && { ...key.failure, token: 0, moment: 0 },
        dismissals: Array.from(key.dismissals, ({ nodeId, sessionId, outcome }) => [
          nodeId,
          sessionId,
          outcome.success,
          outcome.error,
        ]),
        lastRelease: key.lastRelease && { ...key.lastRelease, token: 0, moment: 0 },
      }))
      .sort((a, b) => a.type.localeCompare(b.type)),
  };
}

export function eventsOf({ events }: Instance, resourceId: string): LockEvent[] {
  return events.filter((entry) => entry.resourceId === resourceId).map(({ event }) => event);
}

/**
 * Events without those numbers. What expires in the same millisecond may do so in any order; a waiter that asked only one
 * manager, without a write, is dropped a little early by the other; and where an expiry's answer is lost, another manager that
 * heard of the hold a little later ends it, a little later, and so is the next one's turn.
 */
export function told(events: readonly LockEvent[]): unknown[] {
  return events
    .map((event) => ({
      ...event,
      atMs: BY_DEADLINE.has(event.name) ? 0 : event.atMs,
      sinceMs: event.name === 'granted' ? event.sinceMs : 0,
      moment: 0,
      referenceCount: 0,
      token: event.token === undefined ? undefined : 0,
    }))
    .map((event) => ({ event, order: orderOf(event) }))
    .sort((a, b) => (a.order < b.order ? -1 : 1))
    .map(({ event }) => event);
}

const BY_DEADLINE: ReadonlySet<string> = new Set(['withdrawn', 'expired', 'assigned']);

function orderOf(event: Omit<LockEvent, 'moment'>): string {
  const { atMs, name, type, nodeId, sessionId, dismissed } = event;
  return JSON.stringify([atMs, name, type, nodeId, sessionId, dismissed]);
}
