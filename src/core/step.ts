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

type Draft<T> = { -readonly [field in keyof T]: T[field] };

/** One transition in the making: immutable states in, immutable states out, and between them a place to work. */
export class Step {
  readonly events: LockEvent[] = [];
  private changed: Draft<ResourceState> | undefined;

  constructor(
    private readonly before: ResourceState,
    readonly nowMs: number,
    readonly policy: Policy,
  ) {}

  /** So far. The very state that came in, as long as nothing has changed. */
  get state(): ResourceState {
    return this.changed ?? this.before;
  }

  key(type: string): KeyState {
    return keyOf(this.state, type) ?? emptyKey(type);
  }

  putKey(key: KeyState): void {
    const { keys } = this.state;
    const index = keys.findIndex((other) => other.type === key.type);
    const next = keys.slice();
    if (isIdleKey(key)) {
      if (index >= 0) next.splice(index, 1);
    } else if (index >= 0) next[index] = key;
    else next.push(key);
    this.draft.keys = next;
  }

  putReferences(references: ChunkedList<Reference>): void {
    this.draft.references = references;
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

  readonly newChunkId = (): number => this.draft.nextChunkId++;

  /** The moment of the next event. */
  get moment(): Moment {
    return { revision: THIS_COMMIT, n: this.state.pendingEvents };
  }

  /** null when the server does not count. */
  get referenceCount(): number | null {
    return this.policy.refcountMode === 'server' ? this.state.references.size : null;
  }

  /** What more there is to say the caller fills in: events of one form are three times as fast to build and to write. */
  emit(name: EventName, type: string, { nodeId, sessionId }: Asker): Draft<LockEvent> {
    const event: Draft<LockEvent> = {
      name,
      moment: this.moment,
      type,
      nodeId,
      sessionId,
      success: false,
      error: '',
      token: undefined,
      atMs: this.nowMs,
      sinceMs: undefined,
      dismissed: 0,
      referenceCount: this.referenceCount,
      observersOnly: false,
    };
    this.events.push(event);
    this.draft.pendingEvents++;
    return event;
  }

  private get draft(): Draft<ResourceState> {
    return (this.changed ??= { ...this.before });
  }
}
