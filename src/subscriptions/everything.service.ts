import { Inject, Injectable } from '@nestjs/common';
import { type ServerResponse } from 'node:http';
import { type CancelTimer, CLOCK, type Clock } from '../common/clock.interface.js';
import { type LockEvent } from '../core/events.js';
import { LockList } from '../locking/lock-list.js';
import { LockManager } from '../locking/lock-manager.js';
import { EventBus } from './event-bus.js';
import { eventId } from './key-events.js';
import { OpenStreams } from './open-streams.js';
import { commentFrame, eventFrame } from './sse-stream.js';
import { SUBSCRIPTION_OPTIONS, type SubscriptionOptions } from './subscriptions.module-definition.js';

/** Keys in one `snapshot` event. */
const KEYS_PER_FRAME = 200;

/**
 * The stream of everything. It begins with what is held and awaited, in `snapshot` events (the last has `more: false`);
 * what happens meanwhile comes in between, so that a row may already show what an event then tells: compare ids.
 */
@Injectable()
export class EverythingService {
  constructor(
    private readonly bus: EventBus,
    private readonly manager: LockManager,
    private readonly list: LockList,
    private readonly streams: OpenStreams,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SUBSCRIPTION_OPTIONS) private readonly options: SubscriptionOptions,
  ) {}

  async open(response: ServerResponse): Promise<void> {
    const stream = this.streams.open(response);
    let timer: CancelTimer | undefined;
    const beat = () => {
      stream.send(commentFrame('heartbeat'));
      timer = this.clock.after(this.options.heartbeatMs, beat);
    };
    timer = this.clock.after(this.options.heartbeatMs, beat);
    const subscription = this.bus.events$.subscribe(({ resourceId, events }) => {
      for (const event of events) {
        stream.send(eventFrame(eventId(event), event.name, observerData(resourceId, event)));
      }
    });
    stream.onClose(() => {
      subscription.unsubscribe();
      timer?.();
    });
    for (const frame of this.snapshot()) {
      if (!stream.isOpen) return;
      stream.send(frame);
      await stream.drained();
    }
  }

  private *snapshot(): Iterable<string> {
    let rows: object[] = [];
    for (const { resourceId, state } of this.manager.resources()) {
      for (const key of state.keys)
        if (key.hold || key.lanes.length > 0) rows.push(this.list.row(resourceId, key));
      if (rows.length < KEYS_PER_FRAME) continue;
      yield snapshotFrame(rows, true);
      rows = [];
    }
    yield snapshotFrame(rows, false);
  }
}

function snapshotFrame(locks: readonly object[], more: boolean): string {
  return `event: snapshot\ndata: ${JSON.stringify({ locks, more })}\n\n`;
}

/** An event for those who follow everything, or a whole session. */
export function observerData(resourceId: string, event: LockEvent) {
  return {
    ...(event.type !== '' && { type: event.type }),
    resource_id: resourceId,
    node_id: event.nodeId,
    ...(event.sessionId !== undefined && { session_id: event.sessionId }),
    success: event.success,
    error: event.error,
    completed_at: new Date(event.atMs).toISOString(),
    ...(event.token !== undefined && { token: event.token }),
    ...(event.dismissed > 0 && { dismissed: event.dismissed }),
    reference_count: event.referenceCount,
  };
}
