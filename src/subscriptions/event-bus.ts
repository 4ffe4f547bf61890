import { Inject, Injectable } from '@nestjs/common';
import { type Observable, Subject } from 'rxjs';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { type LockEvent } from '../core/events.js';

export interface ResourceEvents {
  readonly resourceId: string;
  /** Of one commit, in order. Claims and renewals have none. */
  readonly events: readonly LockEvent[];
}

/** Commits were made whose events are not published here, and never will be; what they led to is known by now. */
export interface Gap {
  /** Whether any of them may have been to this resource. */
  concerns(resourceId: string): boolean;
}

/** Others have come to wait, and nothing else has happened: no news to those who wait already. */
export function isOnlyQueueing({ events }: ResourceEvents): boolean {
  return events.every(({ name }) => name === 'queued');
}

/** What happened, in the order of the store's change feed: the same for every instance. Nothing else publishes here. */
@Injectable()
export class EventBus {
  private readonly subject = new Subject<readonly ResourceEvents[]>();
  private readonly gaps = new Subject<Gap>();
  private readonly recounted = new Subject<readonly ResourceEvents[]>();
  private recent: ResourceEvents[] = [];

  constructor(@Inject(CLOCK) private readonly clock: Clock) {}

  /** Of commits that the store has shown together, one for each resource at most: telling of many at once costs little more than of one. */
  get events$(): Observable<readonly ResourceEvents[]> {
    return this.subject;
  }

  /** Who listens to a resource that it concerns must look at the state, or let its client do so. */
  get gaps$(): Observable<Gap> {
    return this.gaps;
  }

  /** The same as `events$`, once those who asked have their answers: for whoever only keeps account of it. */
  get recounted$(): Observable<readonly ResourceEvents[]> {
    return this.recounted;
  }

  publish(happened: readonly ResourceEvents[]): void {
    this.subject.next(happened);
    if (this.recent.length === 0) void this.clock.turn().then(() => this.recount());
    for (const one of happened) this.recent.push(one);
  }

  missed(gap: Gap): void {
    this.recount();
    this.gaps.next(gap);
  }

  /** At once, for whoever cannot wait for it. */
  recount(): void {
    const { recent } = this;
    if (recent.length === 0) return;
    this.recent = [];
    this.recounted.next(recent);
  }
}
