import { Inject, Injectable } from '@nestjs/common';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { type Asker } from '../core/chunked-list.js';
import { openingEvents, type Subscriber } from '../core/opening.js';
import { skipsWhenReferenced } from '../core/reference-rules.js';
import { EMPTY_STATE, findWaiter, keyOf, type ResourceState } from '../core/state.js';
import { LockManager } from '../locking/lock-manager.js';
import { type LockPolicy } from '../locking/lock-policy.js';
import { type KeyName } from '../locking/wire/key-name.js';
import { askerOf, assertFields } from '../locking/wire/requests.js';
import { Bindings } from './bindings.js';
import { type SubscribeDto } from './dto/subscribe.dto.js';
import { KeyAudiences } from './key-audiences.js';
import { keyFrame, parseEventId } from './key-events.js';
import { OpenStreams } from './open-streams.js';
import { Rounds } from './rounds.js';
import { type SseStream } from './sse-stream.js';
import { SUBSCRIPTION_OPTIONS, type SubscriptionOptions } from './subscriptions.module-definition.js';

/** An open stream with a `node_id` counts as asking. */
interface Waiting extends KeyName {
  readonly asker: Asker;
}

/** A stream whose reader is to be prompted. */
interface Prompted extends KeyName {
  readonly stream: SseStream;
}

/**
 * Clients that subscribe without a `node_id` throw away the first line that arrives a second or more after they
 * subscribed, and ask again: this is how they are made to.
 */
const PROMPT_AFTER_MS = 1500;

/** Later than every event of its commit: who was told the state as of a commit has missed nothing of it. */
const END_OF_COMMIT = 999_999_999;

/** Opens the streams of single keys. */
@Injectable()
export class SubscriptionsService {
  private readonly policy: LockPolicy;
  /** How often a waiter is touched; 0 = never. */
  private readonly touchEveryMs: number;
  private readonly touches: Rounds<Waiting>;
  private readonly prompts: Rounds<Prompted>;

  constructor(
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SUBSCRIPTION_OPTIONS) { policy }: SubscriptionOptions,
    private readonly manager: LockManager,
    private readonly streams: OpenStreams,
    private readonly audiences: KeyAudiences,
    private readonly bindings: Bindings,
  ) {
    this.policy = policy;
    this.touchEveryMs = policy.waiterTtlMs / 2;
    this.touches = new Rounds(clock, this.touchEveryMs, (waiting) => this.touch(waiting));
    this.prompts = new Rounds(clock, PROMPT_AFTER_MS, (prompted) => {
      this.prompts.delete(prompted);
      audiences.prompt(prompted, prompted.stream);
    });
  }

  async open(query: SubscribeDto, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { type, resource_id: resourceId, node_id: nodeId } = query;
    const asker = nodeId === undefined ? undefined : askerOf({ ...query, node_id: nodeId });
    assertFields({ node_id: query.bind && !asker ? 'is needed with bind=true' : undefined });
    const lastSeen = parseEventId(singleHeader(request.headers['last-event-id']));
    const references = await this.keptApart(resourceId, type);
    const bind = query.bind && asker;
    const unbind = bind
      ? await this.bindings.bind({ type, resourceId, asker })
      : await this.catchUp(resourceId);
    const stream = this.streams.open(response, { heartbeats: asker !== undefined });
    if (unbind) stream.onClose(unbind);
    const key = { type, resourceId };
    this.listen(key, stream);
    this.tellTruth(key, stream, { type, asker, lastSeen }, references);
    if (asker) this.keepAsking({ type, resourceId, asker }, stream);
    else this.promptLater({ type, resourceId, stream });
  }

  /** Before the truth is looked at, and in the same turn: nothing can happen in between. */
  private listen(key: KeyName, stream: SseStream): void {
    this.audiences.join(key, stream);
    stream.onClose(() => this.audiences.leave(key, stream));
  }

  /** `references` are those of the resource when they are kept apart from its state. */
  private tellTruth(
    { type, resourceId }: KeyName,
    stream: SseStream,
    subscriber: Subscriber,
    references: ResourceState['references'] | undefined,
  ): void {
    const seen = this.manager.peek(resourceId) ?? EMPTY_STATE;
    const state = references ? { ...seen, references } : seen;
    const asOf = { revision: this.manager.revisionOf(resourceId), n: END_OF_COMMIT };
    for (const told of openingEvents(state, asOf, subscriber, this.policy)) {
      stream.send(keyFrame(told, type, resourceId));
    }
  }

  /** Sessions have a life of their own; a waiter without one stays as long as its stream. */
  private keepAsking(waiting: Waiting, stream: SseStream): void {
    if (this.touchEveryMs === 0 || waiting.asker.sessionId !== undefined) return;
    if (this.askedLongAgo(waiting)) this.touch(waiting);
    this.touches.add(waiting);
    stream.onClose(() => this.touches.delete(waiting));
  }

  /** So long that it might be dropped before the first touch of this stream. */
  private askedLongAgo({ type, resourceId, asker }: Waiting): boolean {
    const state = this.manager.peek(resourceId);
    const key = state && keyOf(state, type);
    const waiter = key && findWaiter(key, asker);
    return waiter !== undefined && this.clock.wallMs() - waiter.requestedAtMs >= this.touchEveryMs;
  }

  private touch({ type, resourceId, asker }: Waiting): void {
    this.manager.execute(resourceId, { kind: 'touch', type, asker }).catch(() => undefined);
  }

  private promptLater(prompted: Prompted): void {
    this.prompts.add(prompted);
    prompted.stream.onClose(() => this.prompts.delete(prompted));
  }

  /**
   * The truth that a stream opens with rests on what the store holds now, as every answer that commits nothing. Every
   * command sees to that; this one, on a type that there cannot be, does nothing else.
   */
  private async catchUp(resourceId: string): Promise<undefined> {
    await this.manager.execute(resourceId, { kind: 'forget', type: '', upTo: 0 });
  }

  /** The references, unless they are part of the state. */
  private async keptApart(
    resourceId: string,
    type: string,
  ): Promise<ResourceState['references'] | undefined> {
    const counted = this.policy.refcountMode === 'server' && skipsWhenReferenced(type);
    if (!counted || this.manager.peek(resourceId)?.references.size) return undefined;
    const { references } = await this.manager.read(resourceId);
    return references.size > 0 ? references : undefined;
  }
}

function singleHeader(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
