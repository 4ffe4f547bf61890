import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { type Subscription } from 'rxjs';
import { type Asker, askerKey, sameAsker } from '../core/chunked-list.js';
import { type Command } from '../core/commands.js';
import { inTurns } from '../common/in-turns.js';
import { findWaiter, keyOf } from '../core/state.js';
import { Heartbeat } from '../instances/heartbeat.js';
import { Instances } from '../instances/instances.js';
import { type Deadlines, type Due } from '../locking/deadlines.js';
import { LockManager, type SeenResource } from '../locking/lock-manager.js';
import { type KeyName } from '../locking/wire/key-name.js';
import { EventBus, type ResourceEvents } from './event-bus.js';
import { SUBSCRIPTION_OPTIONS, type SubscriptionOptions } from './subscriptions.module-definition.js';

interface BoundName extends KeyName {
  readonly asker: Asker;
}

interface Bound extends BoundName, Due {
  /** Open now. */
  streams: number;
}

/** What is to be ended may have been renewed, or have become a hold, since it was looked at. */
const MAX_TRIES = 3;

/** After a failed ending (the store is away) it is tried again. */
const RETRY_MS = 1000;

/**
 * Holds and waits that live as long as their event stream (`bind=true`). Without one for the grace time, a hold counts as
 * failed and a wait is withdrawn. The binding itself is stored with them, and where the stream was opened: only that
 * instance counts the grace time, or all of them when it is gone. It is watched time, in which the process was not stopped.
 */
@Injectable()
export class Bindings implements BeforeApplicationShutdown {
  private readonly bound = new Map<string, Bound>();
  private readonly deadlines: Deadlines<Bound>;
  private readonly subscription: Subscription;

  constructor(
    private readonly manager: LockManager,
    private readonly instances: Instances,
    private readonly heartbeat: Heartbeat,
    bus: EventBus,
    @Inject(SUBSCRIPTION_OPTIONS) private readonly options: SubscriptionOptions,
  ) {
    this.deadlines = manager.newDeadlines((bound) => void this.end(bound));
    this.subscription = manager.listed$.subscribe((resource) => this.found(resource));
    this.subscription.add(instances.changes$.subscribe((id) => void this.instanceChanged(id)));
    this.subscription.add(
      bus.events$.subscribe((all) => {
        if (this.bound.size > 0) for (const happened of all) this.bindBeginnings(happened);
      }),
    );
  }

  /** Streams that the server itself closes end nothing. */
  beforeApplicationShutdown(): void {
    this.deadlines.stop();
    this.subscription.unsubscribe();
  }

  /**
   * Ties what the asker has on the key, or gets while the stream is open, to a stream that is open now; call the answer when
   * it has closed.
   */
  async bind(name: BoundName): Promise<() => void> {
    const bound = this.entry(name);
    const unbind = () => {
      if (--bound.streams === 0) this.startGrace(bound);
    };
    bound.streams++;
    try {
      await this.bindNow(bound);
    } catch (error) {
      unbind();
      throw error;
    }
    return unbind;
  }

  private found({ resourceId, state }: SeenResource): void {
    for (const { type, hold, lanes } of state.keys) {
      const waiting = lanes.flatMap((lane) => [...lane.waiters]);
      for (const asker of hold ? [hold, ...waiting] : waiting) {
        if (asker.boundAt === undefined || this.instances.isElsewhere(asker.boundAt)) continue;
        const bound = this.entry({ type, resourceId, asker });
        if (bound.streams === 0 && bound.dueIndex < 0) this.startGrace(bound);
      }
    }
  }

  private async bindNow({ resourceId, type, asker }: BoundName): Promise<void> {
    await this.manager.execute(resourceId, { kind: 'bind', type, asker, at: this.heartbeat.instanceId });
  }

  /** What was bound to streams of an instance that is gone; to our own, if we were taken for dead. */
  private async instanceChanged(id: string): Promise<void> {
    if (this.instances.isElsewhere(id)) return;
    for (const bound of this.bound.values()) if (bound.streams > 0) this.bindAgain(bound);
    await inTurns(this.manager.resources(), (resource) => this.found(resource));
  }

  private bindBeginnings({ resourceId, events }: ResourceEvents): void {
    for (const event of events) {
      if (!BEGINNINGS.has(event.name)) continue;
      const bound = this.bound.get(nameOf({ type: event.type, resourceId, asker: event }));
      if (bound && bound.streams > 0) this.bindAgain(bound);
    }
  }

  private bindAgain(bound: Bound): void {
    this.bindNow(bound).catch(() => undefined);
  }

  private entry(name: BoundName): Bound {
    const key = nameOf(name);
    const bound = this.bound.get(key) ?? { ...name, streams: 0, dueAtMs: Infinity, dueIndex: -1 };
    this.bound.set(key, bound);
    return bound;
  }

  private startGrace(bound: Bound): void {
    this.deadlines.schedule(bound, this.deadlines.now() + this.options.bindGraceMs);
  }

  /** The grace time is over; a stream that has come back meanwhile is enough. */
  private async end(bound: Bound): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES && bound.streams === 0; tries++) {
      const command = this.ending(bound);
      if (!command || (await this.succeeds(bound, command))) return this.forget(bound);
    }
    if (bound.streams === 0) this.deadlines.schedule(bound, this.deadlines.now() + RETRY_MS);
  }

  private forget(bound: Bound): void {
    if (bound.streams === 0) this.bound.delete(nameOf(bound));
  }

  private async succeeds({ resourceId }: Bound, command: Command): Promise<boolean> {
    try {
      const result = await this.manager.execute(resourceId, command);
      return result.kind === 'noted' && result.changed;
    } catch {
      return false;
    }
  }

  private ending({ type, resourceId, asker }: Bound): Command | undefined {
    const state = this.manager.peek(resourceId);
    const key = state && keyOf(state, type);
    const error = 'the stream it was bound to is gone';
    const hold = key?.hold && sameAsker(key.hold, asker) ? key.hold : undefined;
    const waiter = key && findWaiter(key, asker);
    const boundAt = (hold ?? waiter)?.boundAt;
    if (boundAt === undefined || this.instances.isElsewhere(boundAt)) return undefined;
    if (hold) return { kind: 'expire-hold', type, token: hold.token, renewed: hold.renewed, boundAt, error };
    const { ticket, renewed } = waiter!;
    return { kind: 'expire-waiter', type, asker, ticket, renewed, boundAt, error };
  }
}

/** A hand-over needs no binding of its own: the hold has that of the wait. */
const BEGINNINGS: ReadonlySet<string> = new Set(['granted', 'queued']);

function nameOf({ type, resourceId, asker }: BoundName): string {
  return `${type}:${resourceId}\u0000${askerKey(asker)}`;
}
