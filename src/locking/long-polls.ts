import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { type ServerResponse } from 'node:http';
import { type CancelTimer, CLOCK, type Clock } from '../common/clock.interface.js';
import { askerKey } from '../core/chunked-list.js';
import { type Acquire, type Command } from '../core/commands.js';
import { type Moment } from '../core/moment.js';
import { positionOf } from '../core/queue.js';
import { keyOf } from '../core/state.js';
import { ResourceListeners } from '../subscriptions/resource-listeners.js';
import { LockManager } from './lock-manager.js';
import { LOCK_POLICY } from './locking.module-definition.js';
import { type LockPolicy } from './lock-policy.js';
import { atOnce, type Delivery, waitEnd, type WaitResult } from './wait-end.js';

export interface LongPoll {
  readonly resourceId: string;
  readonly acquire: Acquire;
  readonly waitMs: number;
  readonly leaveOnTimeout: boolean;
  readonly response: ServerResponse;
}

/**
 * Requests that wait for their answer. A wait belongs to its latest request; when that one's connection drops, the waiter
 * leaves the queue, and a grant that could not be delivered is a failure at once. At shutdown every poll is answered
 * `queued` and keeps its place.
 */
@Injectable()
export class LongPolls implements BeforeApplicationShutdown {
  private readonly waits = new Map<string, OpenWait>();

  constructor(
    private readonly manager: LockManager,
    private readonly listeners: ResourceListeners,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOCK_POLICY) private readonly policy: LockPolicy,
  ) {}

  get size(): number {
    return this.waits.size;
  }

  async ask(poll: LongPoll): Promise<WaitResult> {
    const { resourceId, acquire } = poll;
    const result = await this.manager.execute(resourceId, { ...acquire, deliveredLater: true });
    const delivery =
      result.kind === 'queued'
        ? await this.wait(poll, result.ticket)
        : atOnce(result, this.manager.peek(resourceId), acquire);
    this.followUp(poll, delivery);
    return delivery.result;
  }

  beforeApplicationShutdown(): void {
    for (const wait of [...this.waits.values()]) wait.end({ result: this.queued(wait) });
  }

  private async wait(poll: LongPoll, ticket: Moment): Promise<Delivery> {
    const name = `${poll.resourceId}\u0000${poll.acquire.type}\u0000${askerKey(poll.acquire.asker)}`;
    const older = this.waits.get(name);
    older?.end({ result: this.queued(older) });
    const wait = new OpenWait(poll, ticket);
    this.waits.set(name, wait);
    const { resourceId } = poll;
    const look = () => {
      const end = waitEnd(this.manager.peek(resourceId), poll.acquire, ticket, null);
      if (end) wait.end(end);
    };
    wait.onEnd(this.listeners.listen(resourceId, look));
    wait.onEnd(this.clock.after(poll.waitMs, () => wait.end(this.timedOut(wait))));
    this.keepAsking(wait);
    const dropped = () => wait.end({ result: { kind: 'lost' }, undelivered: this.leaving(wait) });
    poll.response.once('close', dropped);
    wait.onEnd(() => poll.response.removeListener('close', dropped));
    if (poll.response.destroyed) dropped();
    look();
    const end = await wait.ended;
    if (this.waits.get(name) === wait) this.waits.delete(name);
    return this.counted(resourceId, end);
  }

  private timedOut(wait: OpenWait): Delivery {
    if (!wait.poll.leaveOnTimeout) return { result: this.queued(wait) };
    this.run(wait.poll.resourceId, this.leaving(wait));
    return { result: { kind: 'lost' } };
  }

  /** An open long poll counts as asking. */
  private keepAsking(wait: OpenWait): void {
    const { waiterTtlMs } = this.policy;
    const { type, asker } = wait.poll.acquire;
    if (waiterTtlMs === 0 || asker.sessionId !== undefined) return;
    const cancel = this.clock.after(waiterTtlMs / 2, () => {
      this.run(wait.poll.resourceId, { kind: 'touch', type, asker });
      this.keepAsking(wait);
    });
    wait.onEnd(cancel);
  }

  private queued({ poll, ticket }: OpenWait): WaitResult {
    const { asker, type } = poll.acquire;
    const state = this.manager.peek(poll.resourceId);
    const key = state && keyOf(state, type);
    const position = key ? positionOf(key, asker, this.policy) : 1;
    return { kind: 'queued', position, ticket, referenceCount: null };
  }

  private leaving({ poll, ticket }: OpenWait): Command {
    const { type, asker } = poll.acquire;
    return { kind: 'withdraw', type, asker, ticket, error: 'its long poll ended' };
  }

  private async counted(resourceId: string, delivery: Delivery): Promise<Delivery> {
    if (!('referenceCount' in delivery.result)) return delivery;
    const referenceCount = await this.manager.referenceCount(resourceId);
    return { ...delivery, result: { ...delivery.result, referenceCount } };
  }

  private followUp({ resourceId, response }: LongPoll, { delivered, undelivered }: Delivery): void {
    if (response.destroyed) return undelivered && this.run(resourceId, undelivered);
    response.once('close', () => {
      const consequence = response.writableFinished ? delivered : undelivered;
      if (consequence) this.run(resourceId, consequence);
    });
  }

  /** Nobody hears of a failure here: what was not done is done by the deadline that stands behind it. */
  private run(resourceId: string, command: Command): void {
    this.manager.execute(resourceId, command).catch(() => undefined);
  }
}

class OpenWait {
  readonly ended: Promise<Delivery>;
  private resolve!: (delivery: Delivery) => void;
  private cleanUps: CancelTimer[] = [];

  constructor(
    readonly poll: LongPoll,
    readonly ticket: Moment,
  ) {
    this.ended = new Promise((resolve) => (this.resolve = resolve));
  }

  onEnd(cleanUp: CancelTimer): void {
    this.cleanUps.push(cleanUp);
  }

  end(delivery: Delivery): void {
    for (const cleanUp of this.cleanUps.splice(0)) cleanUp();
    this.resolve(delivery);
  }
}
