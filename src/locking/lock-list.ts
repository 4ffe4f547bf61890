import { Inject, Injectable } from '@nestjs/common';
import { inTurns } from '../common/in-turns.js';
import { waiters } from '../core/queue.js';
import { type KeyState, queueLength } from '../core/state.js';
import { type ListLocksDto } from './dto/other-requests.dto.js';
import { LockManager, type SeenResource } from './lock-manager.js';
import { LOCK_POLICY } from './locking.module-definition.js';
import { type LockPolicy } from './lock-policy.js';
import { isoTime } from './wire/answers.js';

const DEFAULT_PAGE = 100;

/** Waiters shown of one key; the queue's length says how many there are. */
const MAX_WAITERS_SHOWN = 100;

/** What is held and awaited, in pages ordered by resource: as last seen, and only while that is how it is now. */
@Injectable()
export class LockList {
  constructor(
    private readonly manager: LockManager,
    @Inject(LOCK_POLICY) private readonly policy: LockPolicy,
  ) {}

  async page({ type, resource_id: prefix, node_id: nodeId, limit = DEFAULT_PAGE, after }: ListLocksDto) {
    this.manager.assertWatching('list');
    const found = await this.firstAfter(after ?? '', limit + 1, (resource) => {
      if (prefix && !resource.resourceId.startsWith(prefix)) return [];
      return resource.state.keys.filter(
        (key) =>
          (key.hold ?? key.lanes.length > 0) &&
          (!type || key.type === type) &&
          (!nodeId || this.concerns(key, nodeId)),
      );
    });
    const page = found.slice(0, limit);
    const more = found.length > limit;
    return {
      locks: page.flatMap(({ resourceId, keys }) => keys.map((key) => this.row(resourceId, key))),
      ...(more && { next: page.at(-1)!.resourceId }),
    };
  }

  row(resourceId: string, key: KeyState) {
    const { hold } = key;
    const waiting = [];
    for (const waiter of waiters(key, this.policy)) {
      if (waiting.length === MAX_WAITERS_SHOWN) break;
      waiting.push({
        node_id: waiter.nodeId,
        ...(waiter.sessionId !== undefined && { session_id: waiter.sessionId }),
        ...(waiter.subtype !== undefined && { subtype: waiter.subtype }),
        requested_at: isoTime(waiter.requestedAtMs),
      });
    }
    return {
      type: key.type,
      resource_id: resourceId,
      held: hold !== undefined,
      ...(hold && {
        holder: {
          node_id: hold.nodeId,
          ...(hold.sessionId !== undefined && { session_id: hold.sessionId }),
          ...(hold.subtype !== undefined && { subtype: hold.subtype }),
          requested_at: isoTime(hold.requestedAtMs),
          acquired_at: isoTime(hold.acquiredAtMs),
          token: hold.token,
          lease_ms: hold.leaseMs,
          claimed: hold.claimed,
        },
      }),
      queue_length: queueLength(key),
      waiters: waiting,
    };
  }

  private concerns(key: KeyState, nodeId: string): boolean {
    if (key.hold?.nodeId === nodeId) return true;
    return key.lanes.some((lane) => [...lane.waiters].some((waiter) => waiter.nodeId === nodeId));
  }

  /** The resources with the smallest ids after this one that have matching keys. */
  private async firstAfter(
    after: string,
    count: number,
    match: (resource: SeenResource) => readonly KeyState[],
  ) {
    let found: { resourceId: string; keys: readonly KeyState[] }[] = [];
    let upTo: string | undefined;
    await inTurns(this.manager.resources(), (resource) => {
      const { resourceId } = resource;
      if (resourceId <= after || (upTo !== undefined && resourceId >= upTo)) return;
      const keys = match(resource);
      if (keys.length === 0) return;
      found.push({ resourceId, keys });
      if (found.length < 4 * count) return;
      found = smallest(found, count);
      upTo = found.at(-1)!.resourceId;
    });
    return smallest(found, count);
  }
}

function smallest<T extends { resourceId: string }>(found: T[], count: number): T[] {
  return found.sort((a, b) => (a.resourceId < b.resourceId ? -1 : 1)).slice(0, count);
}
