import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type ServerResponse } from 'node:http';
import { type Subscription } from 'rxjs';
import { inTurns } from '../common/in-turns.js';
import { type KeyState } from '../core/state.js';
import { LockList } from '../locking/lock-list.js';
import { LockManager } from '../locking/lock-manager.js';
import { EventBus, type ResourceEvents } from './event-bus.js';
import { snapshotFrame } from './frame.js';
import { observerFrame } from './key-events.js';
import { OpenStreams } from './open-streams.js';
import { type SseStream } from './sse-stream.js';

/** Holders and waiters after which a `snapshot` event is sent: far less than what a slow reader is cut off for. */
const ASKERS_PER_FRAME = 200;

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
    this.subscription = bus.events$.subscribe((all) => {
      if (this.observers.size > 0) for (const happened of all) this.happened(happened);
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

  private happened({ resourceId, events }: ResourceEvents): void {
    for (const event of events) {
      for (const observer of this.observers) observer.send(observerFrame(resourceId, event));
    }
  }

  async open(response: ServerResponse): Promise<void> {
    this.manager.assertWatching('list');
    const stream = this.streams.open(response);
    this.observers.add(stream);
    stream.onClose(() => this.observers.delete(stream));
    const snapshot = new Snapshot(stream, this.list, this.streams.heartbeatMs);
    await inTurns(this.manager.resources(), (resource) => {
      if (!stream.isOpen) return;
      const { resourceId, state } = resource;
      const keys = state.keys.filter((key) => key.hold ?? key.lanes.length > 0);
      if (keys.length > 0) return snapshot.add(resourceId, keys);
    });
    snapshot.end();
  }
}

/** Rows on their way to a stream, in as many frames as it takes; the next is made when its reader has taken the last. */
class Snapshot {
  private rows: object[] = [];
  private askers = 0;

  constructor(
    private readonly stream: SseStream,
    private readonly list: LockList,
    private readonly heartbeatMs: number,
  ) {}

  async add(resourceId: string, keys: readonly KeyState[]): Promise<void> {
    for (const key of keys) {
      const row = this.list.row(resourceId, key);
      this.rows.push(row);
      this.askers += 1 + row.waiters.length;
      if (this.askers < ASKERS_PER_FRAME) continue;
      this.send(true);
      await this.stream.drained();
    }
  }

  end(): void {
    this.send(false);
  }

  private send(more: boolean): void {
    this.stream.send(snapshotFrame({ locks: this.rows, more, heartbeat_ms: this.heartbeatMs }));
    this.rows = [];
    this.askers = 0;
  }
}
