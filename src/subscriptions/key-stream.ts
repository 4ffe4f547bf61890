import { type Asker } from '../core/chunked-list.js';
import { type CancelTimer, type Clock } from '../common/clock.interface.js';
import { openingEvents, type Subscriber, worthAsking } from '../core/opening.js';
import { type Policy } from '../core/policy.js';
import { findWaiter, keyOf, type ResourceState } from '../core/state.js';
import { isForSubscribers, keyFrame } from './key-events.js';
import { type ResourceListeners } from './resource-listeners.js';
import { commentFrame, type SseStream } from './sse-stream.js';

/**
 * Clients that subscribe without a `node_id` throw away the first line that arrives a second or more after they
 * subscribed, and ask again: this is how they are made to.
 */
const PROMPT_AFTER_MS = 1500;

export interface KeyStreamContext {
  /** How often an open stream with a `node_id` counts as asking; 0 = never. */
  readonly touchEveryMs: number;
  readonly listeners: ResourceListeners;
  readonly clock: Clock;
  readonly policy: Policy;
  readonly heartbeatMs: number;
  /** Someone who waits is still there. */
  touch(resourceId: string, type: string, asker: Asker): void;
  /** The state as last seen, and the revision it is of. */
  peek(resourceId: string): { readonly state: ResourceState; readonly revision: number };
}

/** Later than every event of its commit: who was told the state as of a commit has missed nothing of it. */
const END_OF_COMMIT = 999_999_999;

/** What one subscriber of a key is told, from the moment it comes until it goes. */
export class KeyStream {
  private stopListening: (() => void) | undefined;
  private timer: CancelTimer | undefined;
  private touchTimer: CancelTimer | undefined;
  private prompting = false;

  constructor(
    private readonly stream: SseStream,
    private readonly resourceId: string,
    private readonly subscriber: Subscriber,
    private readonly context: KeyStreamContext,
  ) {}

  /**
   * Listens first and looks then, in one turn: nothing can happen in between. `references` are those of the resource when they
   * are kept apart from its state.
   */
  open(references?: ResourceState['references']): void {
    const { listeners, policy } = this.context;
    const { type, asker } = this.subscriber;
    this.stopListening = listeners.listen(this.resourceId, ({ events }) => {
      for (const event of events) {
        if (event.type === type && isForSubscribers(event))
          this.stream.send(keyFrame(event, type, this.resourceId));
      }
      if (this.prompting) this.prompt();
    });
    this.stream.onClose(() => this.close());
    const { state: seen, revision } = this.context.peek(this.resourceId);
    const state = references ? { ...seen, references } : seen;
    const asOf = { revision, n: END_OF_COMMIT };
    for (const told of openingEvents(state, asOf, this.subscriber, policy)) {
      this.stream.send(keyFrame(told, type, this.resourceId));
    }
    if (asker) {
      this.beat();
      this.keepAsking(asker, this.askedLongAgo(state, asker) ? 0 : this.context.touchEveryMs);
    } else this.later(PROMPT_AFTER_MS, () => this.startPrompting());
  }

  private startPrompting(): void {
    this.prompting = true;
    this.prompt();
  }

  private prompt(): void {
    const { policy, peek } = this.context;
    if (worthAsking(peek(this.resourceId).state, this.subscriber.type, policy)) {
      this.stream.send(commentFrame('ask again'));
    }
  }

  private beat(): void {
    this.later(this.context.heartbeatMs, () => {
      this.stream.send(commentFrame('heartbeat'));
      this.beat();
    });
  }

  /** Sessions have a life of their own; a waiter without one stays as long as its stream. */
  private keepAsking(asker: Asker, delayMs: number): void {
    const { clock, touchEveryMs, touch } = this.context;
    if (touchEveryMs === 0 || asker.sessionId !== undefined) return;
    this.touchTimer = clock.after(delayMs, () => {
      touch(this.resourceId, this.subscriber.type, asker);
      this.keepAsking(asker, touchEveryMs);
    });
  }

  /** So long that it might be dropped before the first touch of this stream. */
  private askedLongAgo(state: ResourceState, asker: Asker): boolean {
    const { clock, touchEveryMs } = this.context;
    const key = keyOf(state, this.subscriber.type);
    const waiter = key && findWaiter(key, asker);
    return waiter !== undefined && clock.wallMs() - waiter.requestedAtMs >= touchEveryMs;
  }

  private later(delayMs: number, callback: () => void): void {
    this.timer = this.context.clock.after(delayMs, callback);
  }

  private close(): void {
    this.stopListening?.();
    this.timer?.();
    this.touchTimer?.();
  }
}
