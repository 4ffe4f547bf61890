import { Inject, Injectable } from '@nestjs/common';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { type Asker } from '../core/chunked-list.js';
import { skipsWhenReferenced } from '../core/reference-rules.js';
import { EMPTY_STATE, type ResourceState } from '../core/state.js';
import { LockManager } from '../locking/lock-manager.js';
import { askerOf, assertFields } from '../locking/wire/requests.js';
import { Bindings } from './bindings.js';
import { type SubscribeDto } from './dto/subscribe.dto.js';
import { parseEventId } from './key-events.js';
import { KeyStream, type KeyStreamContext } from './key-stream.js';
import { OpenStreams } from './open-streams.js';
import { ResourceListeners } from './resource-listeners.js';
import { SUBSCRIPTION_OPTIONS, type SubscriptionOptions } from './subscriptions.module-definition.js';

/** Opens the streams of single keys. */
@Injectable()
export class SubscriptionsService {
  private readonly context: KeyStreamContext;

  constructor(
    listeners: ResourceListeners,
    @Inject(CLOCK) clock: Clock,
    @Inject(SUBSCRIPTION_OPTIONS) { policy, heartbeatMs }: SubscriptionOptions,
    private readonly manager: LockManager,
    private readonly streams: OpenStreams,
    private readonly bindings: Bindings,
  ) {
    const peek = (resourceId: string) => ({
      state: manager.peek(resourceId) ?? EMPTY_STATE,
      revision: manager.revisionOf(resourceId),
    });
    const touch = (resourceId: string, type: string, asker: Asker) =>
      void manager.execute(resourceId, { kind: 'touch', type, asker }).catch(() => undefined);
    const touchEveryMs = policy.waiterTtlMs / 2;
    this.context = { listeners, clock, policy, heartbeatMs, touchEveryMs, peek, touch };
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
    const stream = this.streams.open(response);
    if (unbind) stream.onClose(unbind);
    new KeyStream(stream, resourceId, { type, asker, lastSeen }, this.context).open(references);
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
    const counted = this.context.policy.refcountMode === 'server' && skipsWhenReferenced(type);
    if (!counted || this.manager.peek(resourceId)?.references.size) return undefined;
    const { references } = await this.manager.read(resourceId);
    return references.size > 0 ? references : undefined;
  }
}

function singleHeader(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
