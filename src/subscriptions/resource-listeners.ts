import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type Subscription } from 'rxjs';
import { EventBus, type Gap, isOnlyQueueing, type ResourceEvents } from './event-bus.js';

export type ResourceListener = () => void;
export type StopListening = () => void;

/**
 * Tells those who listen to a resource that it has changed: the cost does not depend on all the others. Where
 * others have queued and nothing else has happened, nobody is told: a thousand who come to wait would be a million calls.
 */
@Injectable()
export class ResourceListeners implements OnModuleDestroy {
  private readonly listeners = new Map<string, Set<ResourceListener>>();
  private readonly subscription: Subscription;

  constructor(bus: EventBus) {
    this.subscription = bus.events$.subscribe((all) => {
      if (this.listeners.size > 0) for (const happened of all) this.happened(happened);
    });
    this.subscription.add(bus.gaps$.subscribe((gap) => this.missed(gap)));
  }

  listen(resourceId: string, listener: ResourceListener): StopListening {
    const listeners = this.listeners.get(resourceId) ?? new Set();
    this.listeners.set(resourceId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.listeners.get(resourceId) === listeners)
        this.listeners.delete(resourceId);
    };
  }

  /** Resources that anybody listens to. */
  get size(): number {
    return this.listeners.size;
  }

  private happened(happened: ResourceEvents): void {
    const listeners = this.listeners.get(happened.resourceId);
    if (!listeners || isOnlyQueueing(happened)) return;
    for (const listener of listeners) listener();
  }

  private missed(gap: Gap): void {
    for (const [resourceId, listeners] of this.listeners) {
      if (gap.concerns(resourceId)) for (const listener of listeners) listener();
    }
  }

  onModuleDestroy(): void {
    this.subscription.unsubscribe();
  }
}
