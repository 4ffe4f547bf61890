import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type Subscription } from 'rxjs';
import { type LockEvent } from '../core/events.js';
import { findWaiter, keyOf, type ResourceState } from '../core/state.js';
import { LockManager } from '../locking/lock-manager.js';
import { type KeyName } from '../locking/wire/key-name.js';
import { EventBus, type Gap } from '../subscriptions/event-bus.js';

export interface SessionListener {
  happened(key: KeyName, event: LockEvent): void;
  /** Something may have happened that nobody here was told of. */
  missed(): void;
}

interface TrackedKey extends KeyName {
  /** Sessions and their nodes. */
  readonly sessions: Map<string, string>;
}

/** Which keys each session holds or waits for, learnt from what happens. */
@Injectable()
export class SessionKeys implements OnModuleDestroy {
  private readonly keys = new Map<string, TrackedKey>();
  private readonly bySession = new Map<string, Set<TrackedKey>>();
  private readonly listeners = new Map<string, Set<SessionListener>>();
  private readonly subscription: Subscription;

  constructor(
    bus: EventBus,
    private readonly manager: LockManager,
  ) {
    this.subscription = manager.listed$.subscribe(({ resourceId, state }) =>
      this.trackState(resourceId, state),
    );
    this.subscription.add(
      bus.events$.subscribe((all) => {
        for (const { resourceId, events } of all)
          for (const event of events) this.happened(resourceId, event);
      }),
    );
    this.subscription.add(bus.gaps$.subscribe((gap) => this.missed(gap)));
  }

  onModuleDestroy(): void {
    this.subscription.unsubscribe();
  }

  keysOf(sessionId: string): readonly KeyName[] {
    return [...(this.bySession.get(sessionId) ?? [])];
  }

  /** Sessions that hold or wait for anything, with their nodes. */
  *sessions(): Iterable<{ sessionId: string; nodeId: string }> {
    for (const [sessionId, keys] of this.bySession) {
      for (const key of keys) {
        yield { sessionId, nodeId: key.sessions.get(sessionId)! };
        break;
      }
    }
  }

  /** Hears what happens to the session itself, and what ends or passes on the work it waits for. */
  listen(sessionId: string, listener: SessionListener): () => void {
    const listeners = this.listeners.get(sessionId) ?? new Set();
    this.listeners.set(sessionId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.listeners.delete(sessionId);
    };
  }

  private happened(resourceId: string, event: LockEvent): void {
    const { sessionId } = event;
    if (sessionId !== undefined && STARTS.has(event.name))
      this.track(resourceId, event.type, sessionId, event.nodeId);
    const key = this.keys.size > 0 ? this.keys.get(keyName(event.type, resourceId)) : undefined;
    if (!key) return;
    this.tell(key, event);
    if (sessionId !== undefined && ENDS.has(event.name)) this.untrack(key, sessionId);
    if (event.dismissed > 0) this.prune(key);
  }

  private tell(key: TrackedKey, event: LockEvent): void {
    const forAll = !event.observersOnly && FOR_ALL.has(event.name);
    const sessions = forAll ? key.sessions.keys() : event.sessionId === undefined ? [] : [event.sessionId];
    for (const sessionId of sessions) {
      for (const listener of this.listeners.get(sessionId) ?? []) listener.happened(key, event);
    }
  }

  /** The listing before it has shown who is new. */
  private missed(gap: Gap): void {
    for (const key of [...this.keys.values()]) {
      if (!gap.concerns(key.resourceId)) continue;
      for (const sessionId of key.sessions.keys()) {
        for (const listener of this.listeners.get(sessionId) ?? []) listener.missed();
      }
      this.prune(key);
    }
  }

  private trackState(resourceId: string, state: ResourceState): void {
    for (const key of state.keys) {
      const askers = [...key.lanes.flatMap((lane) => [...lane.waiters]), ...(key.hold ? [key.hold] : [])];
      for (const { sessionId, nodeId } of askers) {
        if (sessionId !== undefined) this.track(resourceId, key.type, sessionId, nodeId);
      }
    }
  }

  private track(resourceId: string, type: string, sessionId: string, nodeId: string): void {
    const name = keyName(type, resourceId);
    const key = this.keys.get(name) ?? { type, resourceId, sessions: new Map<string, string>() };
    this.keys.set(name, key);
    key.sessions.set(sessionId, nodeId);
    this.bySession.set(sessionId, (this.bySession.get(sessionId) ?? new Set()).add(key));
  }

  private untrack(key: TrackedKey, sessionId: string): void {
    key.sessions.delete(sessionId);
    if (key.sessions.size === 0) this.keys.delete(keyName(key.type, key.resourceId));
    const keys = this.bySession.get(sessionId);
    keys?.delete(key);
    if (keys?.size === 0) this.bySession.delete(sessionId);
  }

  /** Many may have been sent away at once: who is left? */
  private prune(key: TrackedKey): void {
    const state = this.manager.peek(key.resourceId);
    const current = state && keyOf(state, key.type);
    for (const [sessionId, nodeId] of [...key.sessions]) {
      const asker = { nodeId, sessionId };
      const holds = current?.hold?.sessionId === sessionId;
      if (!holds && !(current && findWaiter(current, asker))) this.untrack(key, sessionId);
    }
  }
}

const STARTS: ReadonlySet<string> = new Set(['queued', 'granted', 'assigned']);
const ENDS: ReadonlySet<string> = new Set(['completed', 'failed', 'released', 'expired', 'withdrawn']);
const FOR_ALL: ReadonlySet<string> = new Set(['completed', 'failed', 'assigned']);

function keyName(type: string, resourceId: string): string {
  return `${type}:${resourceId}`;
}
