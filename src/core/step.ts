import { type Asker, type ChunkedList } from './chunked-list.js';
import { type EventName, type LockEvent } from './events.js';
import { type Moment, THIS_COMMIT } from './moment.js';
import { type Policy } from './policy.js';
import {
  emptyKey,
  isIdleKey,
  type KeyState,
  keyOf,
  type Reference,
  type ResourceState,
  type Waiter,
} from './state.js';

/** One transition in the making: immutable states in, immutable states out, and between them a place to work. */
export class Step {
  readonly events: LockEvent[] = [];

  constructor(
    public state: ResourceState,
    readonly nowMs: number,
    readonly policy: Policy,
  ) {}

  key(type: string): KeyState {
    return keyOf(this.state, type) ?? emptyKey(type);
  }

  putKey(key: KeyState): void {
    const { keys } = this.state;
    const index = keys.findIndex((other) => other.type === key.type);
    const kept = isIdleKey(key) ? [] : [key];
    this.state = {
      ...this.state,
      keys: index < 0 ? [...keys, ...kept] : keys.toSpliced(index, 1, ...kept),
    };
  }

  putReferences(references: ChunkedList<Reference>): void {
    this.state = { ...this.state, references };
  }

  removeWaiter(key: KeyState, waiter: Waiter): KeyState {
    const lanes = key.lanes
      .map((lane) => ({ name: lane.name, waiters: lane.waiters.remove(waiter) }))
      .filter((lane) => lane.waiters.size > 0);
    return this.put({ ...key, lanes });
  }

  removeDismissal(key: KeyState, asker: Asker): KeyState {
    return key.dismissals.has(asker) ? this.put({ ...key, dismissals: key.dismissals.remove(asker) }) : key;
  }

  put(key: KeyState): KeyState {
    this.putKey(key);
    return key;
  }

  readonly newChunkId = (): number => {
    const id = this.state.nextChunkId;
    this.state = { ...this.state, nextChunkId: id + 1 };
    return id;
  };

  /** The moment of the next event. */
  get moment(): Moment {
    return { revision: THIS_COMMIT, n: this.state.pendingEvents };
  }

  /** null when the server does not count. */
  get referenceCount(): number | null {
    return this.policy.refcountMode === 'server' ? this.state.references.size : null;
  }

  emit(name: EventName, about: Partial<LockEvent> & { nodeId: string; type: string }): Moment {
    const moment = this.moment;
    this.events.push({
      name,
      moment,
      sessionId: undefined,
      success: false,
      error: '',
      token: undefined,
      atMs: this.nowMs,
      sinceMs: undefined,
      dismissed: 0,
      referenceCount: this.referenceCount,
      observersOnly: false,
      ...about,
    });
    this.state = { ...this.state, pendingEvents: this.state.pendingEvents + 1 };
    return moment;
  }
}
