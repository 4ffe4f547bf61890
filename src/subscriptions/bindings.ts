import { type BeforeApplicationShutdown, Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { type Asker, askerKey, sameAsker } from '../core/chunked-list.js';
import { type Command } from '../core/commands.js';
import { findWaiter, keyOf } from '../core/state.js';
import { Deadlines, type Due } from '../locking/deadlines.js';
import { LockManager } from '../locking/lock-manager.js';
import { type KeyName } from '../locking/wire/key-name.js';
import { ResourceListeners } from './resource-listeners.js';
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
 * failed and a wait is withdrawn. The binding itself is stored with them, so that after a restart they have
 * the grace time again; it is watched time, in which the process was not stopped.
 */
@Injectable()
export class Bindings implements OnModuleInit, BeforeApplicationShutdown {
  private readonly bound = new Map<string, Bound>();
  private readonly deadlines: Deadlines<Bound>;

  constructor(
    private readonly manager: LockManager,
    private readonly listeners: ResourceListeners,
    @Inject(CLOCK) clock: Clock,
    @Inject(SUBSCRIPTION_OPTIONS) private readonly options: SubscriptionOptions,
  ) {
    this.deadlines = new Deadlines(clock, (bound) => void this.end(bound));
  }

  onModuleInit(): void {
    for (const { resourceId, state } of this.manager.resources()) {
      for (const { type, hold, lanes } of state.keys) {
        const waiting = lanes.flatMap((lane) => [...lane.waiters]);
        for (const asker of hold ? [hold, ...waiting] : waiting) {
          if (asker.bound) this.startGrace(this.entry({ type, resourceId, asker }));
        }
      }
    }
  }

  /** Streams that the server itself closes end nothing. */
  beforeApplicationShutdown(): void {
    this.deadlines.stop();
  }

  /**
   * Ties what the asker has on the key, or gets while the stream is open, to a stream that is open now; call the answer when
   * it has closed.
   */
  async bind(name: BoundName): Promise<() => void> {
    const bound = this.entry(name);
    const { type, resourceId, asker } = name;
    const bindNow = () => this.manager.execute(resourceId, { kind: 'bind', type, asker });
    bound.streams++;
    const stopListening = this.listeners.listen(resourceId, ({ events }) => {
      const begins = events.some(
        (event) => BEGINNINGS.has(event.name) && event.type === type && sameAsker(event, asker),
      );
      if (begins) bindNow().catch(() => undefined);
    });
    const unbind = () => {
      stopListening();
      if (--bound.streams === 0) this.startGrace(bound);
    };
    try {
      await bindNow();
    } catch (error) {
      unbind();
      throw error;
    }
    return unbind;
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
    const hold = key?.hold;
    if (hold?.bound && sameAsker(hold, asker)) {
      return { kind: 'expire-hold', type, token: hold.token, renewed: hold.renewed, error };
    }
    const waiter = key && findWaiter(key, asker);
    if (!waiter?.bound) return undefined;
    const { ticket, renewed } = waiter;
    return { kind: 'expire-waiter', type, asker, ticket, renewed, error };
  }
}

/** A hand-over needs no binding of its own: the hold has that of the wait. */
const BEGINNINGS: ReadonlySet<string> = new Set(['granted', 'queued']);

function nameOf({ type, resourceId, asker }: BoundName): string {
  return `${type}:${resourceId}\u0000${askerKey(asker)}`;
}
