import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type Subscription } from 'rxjs';
import { Few } from '../common/few.js';
import { KeyMap } from '../common/key-map.js';
import { type LockEvent } from '../core/events.js';
import { findWaiter, keyOf, type ResourceState } from '../core/state.js';
import { LockManager } from '../locking/lock-manager.js';
import { type KeyName } from '../locking/wire/key-name.js';
import { EventBus, type Gap } from '../subscriptions/event-bus.js';
import { Chain, type Link } from './chain.js';

export interface SessionListener {
  happened(key: KeyName, event: LockEvent): void;
  /** Something may have happened that nobody here was told of. */
  missed(): void;
}

interface TrackedKey extends KeyName {
  readonly sessions: Few<string, Tie>;
}

/** A session holds a key or waits for it. */
interface Tie extends Link<Tie> {
  readonly key: TrackedKey;
  readonly nodeId: string;
}

/** Which keys each session holds or waits for, learnt from what happens. */
@Injectable()
export class SessionKeys implements OnModuleDestroy {
  private readonly keys = new KeyMap<TrackedKey>();
  private readonly bySession = new Map<string, Chain<Tie>>();
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
    return Array.from(this.bySession.get(sessionId) ?? [], ({ key }) => key);
  }

  /** Sessions that hold or wait for anything, with their nodes. */
  *sessions(): Iterable<{ sessionId: string; nodeId: string }> {
    for (const [sessionId, { first }] of this.bySession) yield { sessionId, nodeId: first!.nodeId };
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
    const { name, type, sessionId } = event;
    const key =
      sessionId !== undefined && STARTS.has(name)
        ? this.track(resourceId, type, sessionId, event.nodeId)
        : this.keys.get(type, resourceId);
    if (!key) return;
    if (this.listeners.size > 0) this.tell(key, event);
    if (sessionId !== undefined && ENDS.has(name)) this.untrack(key, sessionId);
    if (event.dismissed > 0) this.prune(key);
  }

  private tell(key: TrackedKey, event: LockEvent): void {
    if (!event.observersOnly && FOR_ALL.has(event.name)) {
      for (const [sessionId] of key.sessions.entries()) this.tellSession(sessionId, key, event);
    } else if (event.sessionId !== undefined) this.tellSession(event.sessionId, key, event);
  }

  private tellSession(sessionId: string, key: TrackedKey, event: LockEvent): void {
    for (const listener of this.listeners.get(sessionId) ?? []) listener.happened(key, event);
  }

  /** The listing before it has shown who is new. */
  private missed(gap: Gap): void {
    for (const key of [...this.keys.values()]) {
      if (!gap.concerns(key.resourceId)) continue;
      for (const [sessionId] of key.sessions.entries()) {
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

  private track(resourceId: string, type: string, sessionId: string, nodeId: string): TrackedKey {
    let key = this.keys.get(type, resourceId);
    if (!key) this.keys.set(type, resourceId, (key = { type, resourceId, sessions: new Few() }));
    if (!key.sessions.get(sessionId)) this.tie(key, sessionId, nodeId);
    return key;
  }

  private tie(key: TrackedKey, sessionId: string, nodeId: string): void {
    const tie = { key, nodeId, previous: undefined, next: undefined };
    key.sessions.set(sessionId, tie);
    let ties = this.bySession.get(sessionId);
    if (!ties) this.bySession.set(sessionId, (ties = new Chain()));
    ties.add(tie);
  }

  private untrack(key: TrackedKey, sessionId: string): void {
    const tie = key.sessions.get(sessionId);
    if (!tie) return;
    key.sessions.delete(sessionId);
    if (key.sessions.size === 0) this.keys.delete(key.type, key.resourceId);
    const ties = this.bySession.get(sessionId)!;
    ties.delete(tie);
    if (!ties.first) this.bySession.delete(sessionId);
  }

  /** Many may have been sent away at once: who is left? */
  private prune(key: TrackedKey): void {
    const state = this.manager.peek(key.resourceId);
    const current = state && keyOf(state, key.type);
    for (const [sessionId, { nodeId }] of [...key.sessions.entries()]) {
      const asker = { nodeId, sessionId };
      const holds = current?.hold?.sessionId === sessionId;
      if (!holds && !(current && findWaiter(current, asker))) this.untrack(key, sessionId);
    }
  }
}

const STARTS: ReadonlySet<string> = new Set(['queued', 'granted', 'assigned']);
const ENDS: ReadonlySet<string> = new Set(['completed', 'failed', 'released', 'expired', 'withdrawn']);
const FOR_ALL: ReadonlySet<string> = new Set(['completed', 'failed', 'assigned']);
