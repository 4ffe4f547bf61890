import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type Subscription } from 'rxjs';
import { worthAsking } from '../core/opening.js';
import { EMPTY_STATE } from '../core/state.js';
import { LockManager } from '../locking/lock-manager.js';
import { type KeyName } from '../locking/wire/key-name.js';
import { EventBus, type Gap, isOnlyQueueing, type ResourceEvents } from './event-bus.js';
import { commentFrame, type Frame } from './frame.js';
import { isForSubscribers, keyFrame } from './key-events.js';
import { type SseStream } from './sse-stream.js';
import { SUBSCRIPTION_OPTIONS, type SubscriptionOptions } from './subscriptions.module-definition.js';

const ASK_AGAIN = commentFrame('ask again');

interface Audience {
  readonly streams: Set<SseStream>;
  /** Those who are to be told when it is worth asking again. */
  readonly prompted: Set<SseStream>;
}

/**
 * Who listens to which key. An event is put into words once for all of them; one that concerns no listener, such as
 * another node's queueing, costs the same whatever their number. Who may have missed one is cut off, and told the truth
 * when it comes back.
 */
@Injectable()
export class KeyAudiences implements OnModuleDestroy {
  /** By resource, then by type. */
  private readonly audiences = new Map<string, Map<string, Audience>>();
  private readonly subscription: Subscription;

  constructor(
    bus: EventBus,
    private readonly manager: LockManager,
    @Inject(SUBSCRIPTION_OPTIONS) private readonly options: SubscriptionOptions,
  ) {
    this.subscription = bus.events$.subscribe((all) => {
      if (this.audiences.size > 0) for (const happened of all) this.happened(happened);
    });
    this.subscription.add(bus.gaps$.subscribe((gap) => this.missed(gap)));
  }

  onModuleDestroy(): void {
    this.subscription.unsubscribe();
  }

  join({ type, resourceId }: KeyName, stream: SseStream): void {
    const ofResource = this.audiences.get(resourceId) ?? new Map<string, Audience>();
    const audience = ofResource.get(type) ?? { streams: new Set(), prompted: new Set() };
    this.audiences.set(resourceId, ofResource.set(type, audience));
    audience.streams.add(stream);
  }

  leave({ type, resourceId }: KeyName, stream: SseStream): void {
    const ofResource = this.audiences.get(resourceId);
    const audience = ofResource?.get(type);
    audience?.streams.delete(stream);
    audience?.prompted.delete(stream);
    if (audience?.streams.size === 0) ofResource?.delete(type);
    if (ofResource?.size === 0) this.audiences.delete(resourceId);
  }

  /** From now on the stream, which has joined, is told whenever it is worth asking for the key; first, whether it is now. */
  prompt({ type, resourceId }: KeyName, stream: SseStream): void {
    this.audiences.get(resourceId)?.get(type)?.prompted.add(stream);
    if (this.isWorthAsking(type, resourceId)) stream.send(ASK_AGAIN);
  }

  private happened(happened: ResourceEvents): void {
    const { resourceId, events } = happened;
    const ofResource = this.audiences.get(resourceId);
    if (!ofResource || isOnlyQueueing(happened)) return;
    for (const event of events) {
      if (!isForSubscribers(event)) continue;
      const audience = ofResource.get(event.type);
      if (audience) tell(audience.streams, keyFrame(event, event.type, resourceId));
    }
    for (const [type, { prompted }] of ofResource) {
      if (prompted.size > 0 && this.isWorthAsking(type, resourceId)) tell(prompted, ASK_AGAIN);
    }
  }

  private missed(gap: Gap): void {
    for (const [resourceId, ofResource] of this.audiences) {
      if (!gap.concerns(resourceId)) continue;
      for (const { streams } of ofResource.values()) for (const stream of streams) stream.destroy();
    }
  }

  private isWorthAsking(type: string, resourceId: string): boolean {
    return worthAsking(this.manager.peek(resourceId) ?? EMPTY_STATE, type, this.options.policy);
  }
}

function tell(streams: Iterable<SseStream>, frame: Frame): void {
  for (const stream of streams) stream.send(frame);
}
