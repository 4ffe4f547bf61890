import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { type Asker, askerKey, sameAsker } from '../core/chunked-list.js';
import { type Command } from '../core/commands.js';
import { findWaiter, keyOf } from '../core/state.js';
import { LockManager } from '../locking/lock-manager.js';
import { type KeyName } from '../locking/wire/key-name.js';
import { SUBSCRIPTION_OPTIONS, type SubscriptionOptions } from './subscriptions.module-definition.js';

interface Bound extends KeyName {
  readonly asker: Asker;
}

/**
 * Holds and waits that live as long as their event stream (`bind=true`). Gone for the grace time, a hold counts as failed and
 * a wait is withdrawn. The binding itself is stored with them, so that after a restart they have the grace time again.
 */
@Injectable()
export class Bindings implements OnModuleInit {
  private readonly streams = new Map<string, number>();

  constructor(
    private readonly manager: LockManager,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SUBSCRIPTION_OPTIONS) private readonly options: SubscriptionOptions,
  ) {}

  onModuleInit(): void {
    for (const { resourceId, state } of this.manager.resources()) {
      for (const { type, hold, lanes } of state.keys) {
        const waiting = lanes.flatMap((lane) => [...lane.waiters]);
        for (const asker of hold ? [hold, ...waiting] : waiting) {
          if (asker.bound) this.startGrace({ type, resourceId, asker });
        }
      }
    }
  }

  /** Ties what the asker has on the key to a stream that is open now; call the answer when it has closed. */
  async bind(bound: Bound): Promise<() => void> {
    const name = nameOf(bound);
    this.streams.set(name, (this.streams.get(name) ?? 0) + 1);
    const { type, asker, resourceId } = bound;
    await this.manager.execute(resourceId, { kind: 'bind', type, asker });
    return () => {
      const left = (this.streams.get(name) ?? 1) - 1;
      if (left > 0) this.streams.set(name, left);
      else {
        this.streams.delete(name);
        this.startGrace(bound);
      }
    };
  }

  private startGrace(bound: Bound): void {
    this.clock.after(this.options.bindGraceMs, () => {
      if (this.streams.has(nameOf(bound))) return;
      const command = this.ending(bound);
      if (command) this.manager.execute(bound.resourceId, command).catch(() => this.startGrace(bound));
    });
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

function nameOf({ type, resourceId, asker }: Bound): string {
  return `${type}:${resourceId}\u0000${askerKey(asker)}`;
}
