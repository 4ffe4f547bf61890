import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type ServerResponse } from 'node:http';
import { type Subscription } from 'rxjs';
import { LockList } from '../locking/lock-list.js';
import { LockManager } from '../locking/lock-manager.js';
import { EventBus } from './event-bus.js';
import { type Frame, snapshotFrame } from './frame.js';
import { observerFrame } from './key-events.js';
import { OpenStreams } from './open-streams.js';
import { type SseStream } from './sse-stream.js';

/** Keys in one `snapshot` event. */
const KEYS_PER_FRAME = 200;

/**
 * The stream of everything. It begins with what is held and awaited, in `snapshot` events (the last has `more: false`);
 * what happens meanwhile comes in between, so that a row may already show what an event then tells: compare ids. When
 * anything was missed here, every stream is cut off: the next snapshot has it.
 */
@Injectable()
export class EverythingService implements OnModuleDestroy {
  private readonly observers = new Set<SseStream>();
  private readonly subscription: Subscription;

  constructor(
    bus: EventBus,
    private readonly manager: LockManager,
    private readonly list: LockList,
    private readonly streams: OpenStreams,
  ) {
    this.subscription = bus.events$.subscribe(({ resourceId, events }) => {
      if (this.observers.size === 0) return;
      for (const event of events) {
        for (const observer of this.observers) observer.send(observerFrame(resourceId, event));
      }
    });
    this.subscription.add(
      bus.gaps$.subscribe(() => {
        for (const observer of this.observers) observer.destroy();
      }),
    );
  }

  onModuleDestroy(): void {
    this.subscription.unsubscribe();
  }

  async open(response: ServerResponse): Promise<void> {
    this.manager.assertWatching('list');
    const stream = this.streams.open(response);
    this.observers.add(stream);
    stream.onClose(() => this.observers.delete(stream));
    for (const frame of this.snapshot()) {
      if (!stream.isOpen) return;
      stream.send(frame);
      await stream.drained();
    }
  }

  private *snapshot(): Iterable<Frame> {
    let rows: object[] = [];
    for (const { resourceId, state } of this.manager.resources()) {
      for (const key of state.keys)
        if (key.hold || key.lanes.length > 0) rows.push(this.list.row(resourceId, key));
      if (rows.length < KEYS_PER_FRAME) continue;
      yield snapshotFrame({ locks: rows, more: true });
      rows = [];
    }
    yield snapshotFrame({ locks: rows, more: false });
  }
}
