import { Injectable } from '@nestjs/common';
import { type Observable, Subject } from 'rxjs';
import { type LockEvent } from '../core/events.js';

export interface ResourceEvents {
  readonly resourceId: string;
  /** Of one commit, in order. */
  readonly events: readonly LockEvent[];
}

/** What happened, in the order of the store's change feed: the same for every instance. Nothing else publishes here. */
@Injectable()
export class EventBus {
  private readonly subject = new Subject<ResourceEvents>();
  private readonly changed = new Subject<string>();

  get events$(): Observable<ResourceEvents> {
    return this.subject;
  }

  /** The resource of every commit, after its events: claims and renewals have none. */
  get changes$(): Observable<string> {
    return this.changed;
  }

  publish(resourceId: string, events: readonly LockEvent[]): void {
    if (events.length > 0) this.subject.next({ resourceId, events });
    this.changed.next(resourceId);
  }
}
