import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { type ServerResponse } from 'node:http';
import { type CancelTimer, CLOCK, type Clock } from '../common/clock.interface.js';
import { type Asker, askerKey } from '../core/chunked-list.js';
import { type Acquire, type Command } from '../core/commands.js';
import { type Moment } from '../core/moment.js';
import { positionOf } from '../core/queue.js';
import { keyOf } from '../core/state.js';
import { ResourceListeners } from '../subscriptions/resource-listeners.js';
import { LockManager } from './lock-manager.js';
import { LOCK_POLICY } from './locking.module-definition.js';
import { type LockPolicy } from './lock-policy.js';
import { atOnce, type Delivery, waitEnd, type WaitResult } from './wait-end.js';

/** A node that is gone without a word is found out: to it an answer would count as delivered. */
const TCP_KEEP_ALIVE_MS = 15_000;

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
  /** The latest poll of each asker and key. */
  private readonly waits = new Map<string, OpenWait>();
  private stopping = false;

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
    this.supersede(resourceId, acquire.type, acquire.asker);
    const name = nameOf(resourceId, acquire.type, acquire.asker);
    const wait = new OpenWait(poll);
    this.waits.set(name, wait);
    try {
      const result = await this.manager.execute(resourceId, { ...acquire, deliveredLater: true });
      const delivery =
        result.kind === 'queued'
          ? await this.wait(wait, result, result.ticket)
          : atOnce(result, this.manager.peek(resourceId), acquire);
      this.followUp(poll, delivery);
      return delivery.result;
    } finally {
      if (this.waits.get(name) === wait) this.waits.delete(name);
    }
  }

  /**
   * The asker asks anew: from now on its wait does not depend on an older poll, which is answered at once. To be called
   * before the new request is applied, lest the older connection drops in between and takes the wait with it.
   */
  supersede(resourceId: string, type: string, asker: Asker): void {
    if (this.waits.size === 0) return;
    const older = this.waits.get(nameOf(resourceId, type, asker));
    if (older) this.release(older);
  }

  beforeApplicationShutdown(): void {
    this.stopping = true;
    for (const wait of [...this.waits.values()]) this.release(wait);
  }

  /** Answers a poll `queued`; its wait stays. */
  private release(wait: OpenWait): void {
    wait.released = true;
    if (wait.ticket) wait.end({ result: this.queued(wait, wait.ticket) });
  }

  private async wait(wait: OpenWait, result: WaitResult, ticket: Moment): Promise<Delivery> {
    if (wait.released || this.stopping) return { result };
    const { resourceId, acquire, waitMs, response } = wait.poll;
    wait.ticket = ticket;
    response.socket?.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
    const look = () => {
      const end = waitEnd(this.manager.peek(resourceId), acquire, ticket, null);
      if (end) wait.end(end);
    };
    wait.onEnd(this.listeners.listen(resourceId, look));
    wait.onEnd(this.clock.after(waitMs, () => wait.end(this.timedOut(wait, ticket))));
    this.keepAsking(wait);
    const dropped = () => wait.end({ result: { kind: 'lost' }, undelivered: leaving(wait.poll, ticket) });
    response.once('close', dropped);
    wait.onEnd(() => response.removeListener('close', dropped));
    if (response.destroyed) dropped();
    look();
    const { before, ...end } = await wait.ended;
    if (before) await this.manager.execute(resourceId, before);
    return this.counted(resourceId, end);
  }

  private timedOut(wait: OpenWait, ticket: Moment): Ended {
    if (!wait.poll.leaveOnTimeout) return { result: this.queued(wait, ticket) };
    return { result: { kind: 'lost' }, before: leaving(wait.poll, ticket) };
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

  private queued({ poll }: OpenWait, ticket: Moment): WaitResult {
    const { asker, type } = poll.acquire;
    const state = this.manager.peek(poll.resourceId);
    const key = state && keyOf(state, type);
    const position = key ? positionOf(key, asker, this.policy) : 1;
    return { kind: 'queued', position, ticket, referenceCount: null };
  }

  private async counted(resourceId: string, delivery: Delivery): Promise<Delivery> {
    if (!('referenceCount' in delivery.result)) return delivery;
    const referenceCount = await this.manager.referenceCount(resourceId);
    return { ...delivery, result: { ...delivery.result, referenceCount } };
  }

  private followUp({ resourceId, response }: LongPoll, { delivered, undelivered }: Delivery): void {
    if (response.destroyed) return undelivered && this.run(resourceId, undelivered);
    // A response whose bytes were refused, because the connection was reset, calls itself finished, too. Closed, it has no socket any more.
    const { socket } = response.req;
    response.once('close', () => {
      const consequence = response.writableFinished && !socket.errored ? delivered : undelivered;
      if (consequence) this.run(resourceId, consequence);
    });
  }

  /** Nobody hears of a failure here: what was not done is done by the deadline that stands behind it. */
  private run(resourceId: string, command: Command): void {
    this.manager.execute(resourceId, command).catch(() => undefined);
  }
}

function nameOf(resourceId: string, type: string, asker: Asker): string {
  return `${resourceId}\u0000${type}\u0000${askerKey(asker)}`;
}

function leaving({ acquire: { type, asker, at } }: LongPoll, ticket: Moment): Command {
  return { kind: 'withdraw', type, asker, ticket, polledAt: at, error: 'its long poll ended' };
}

/** How a wait ended, and what must be done before that is told. */
interface Ended extends Delivery {
  readonly before?: Command;
}

class OpenWait {
  readonly ended: Promise<Ended>;
  /** Of the wait, once it is queued. */
  ticket: Moment | undefined;
  /** The wait no longer depends on this poll. */
  released = false;
  private resolve!: (end: Ended) => void;
  private cleanUps: CancelTimer[] = [];

  constructor(readonly poll: LongPoll) {
    this.ended = new Promise((resolve) => (this.resolve = resolve));
  }

  onEnd(cleanUp: CancelTimer): void {
    this.cleanUps.push(cleanUp);
  }

  end(end: Ended): void {
    for (const cleanUp of this.cleanUps.splice(0)) cleanUp();
    this.resolve(end);
  }
}
