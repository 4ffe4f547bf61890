import { Inject, Injectable } from '@nestjs/common';
import { type Observable, Subject } from 'rxjs';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { type LockEvent } from '../core/events.js';

export interface ResourceEvents {
  readonly resourceId: string;
  /** Of one commit, in order. */
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
  private readonly subject = new Subject<ResourceEvents>();
  private readonly changed = new Subject<string>();
  private readonly gaps = new Subject<Gap>();
  private readonly recounted = new Subject<readonly ResourceEvents[]>();
  private recent: ResourceEvents[] = [];

  constructor(@Inject(CLOCK) private readonly clock: Clock) {}

  get events$(): Observable<ResourceEvents> {
    return this.subject;
  }

  /** The resource of every commit, after its events: claims and renewals have none. */
  get changes$(): Observable<string> {
    return this.changed;
  }

  /** Who listens to a resource that it concerns must look at the state, or let its client do so. */
  get gaps$(): Observable<Gap> {
    return this.gaps;
  }

  /** The same as `events$`, once those who asked have their answers: for whoever only keeps account of it. */
  get recounted$(): Observable<readonly ResourceEvents[]> {
    return this.recounted;
  }

  publish(resourceId: string, events: readonly LockEvent[]): void {
    if (events.length > 0) this.happened({ resourceId, events });
    this.changed.next(resourceId);
  }

  missed(gap: Gap): void {
    this.recount();
    this.gaps.next(gap);
  }

  private happened(events: ResourceEvents): void {
    this.subject.next(events);
    if (this.recent.push(events) === 1) void this.clock.turn().then(() => this.recount());
  }

  /** At once, for whoever cannot wait for it. */
  recount(): void {
    const { recent } = this;
    if (recent.length === 0) return;
    this.recent = [];
    this.recounted.next(recent);
  }
}
