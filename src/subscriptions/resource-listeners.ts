import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type Subscription } from 'rxjs';
import { EventBus, type ResourceEvents } from './event-bus.js';

export type ResourceListener = (happened: ResourceEvents) => void;
export type StopListening = () => void;

/** Passes what happens to a resource to those who listen to that resource: the cost does not depend on all the others. */
@Injectable()
export class ResourceListeners implements OnModuleDestroy {
  private readonly listeners = new Map<string, Set<ResourceListener>>();
  private readonly subscription: Subscription;

  constructor(bus: EventBus) {
    this.subscription = bus.events$.subscribe((happened) => {
      for (const listener of this.listeners.get(happened.resourceId) ?? []) listener(happened);
    });
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

  onModuleDestroy(): void {
    this.subscription.unsubscribe();
  }
}
