import { askerKey } from './chunked-list.js';
import { isLater } from './moment.js';
import { type Policy } from './policy.js';
import { isDeleteHeld } from './judge.js';
import { forEachChunk, type KeyState, keyOf, queueLength, type ResourceState } from './state.js';

/** What must hold of every settled state, whatever happened before it. */
export function checkState(state: ResourceState, policy: Policy): void {
  const holds = state.keys.filter((key) => key.hold);
  if (policy.lockIsolation === 'resource') check(holds.length <= 1, 'one holder per resource');
  checkDistinct(
    state.keys.map((key) => key.type),
    'one state per type',
  );
  checkDistinct(
    Array.from(state.references, (reference) => reference.nodeId),
    'count = referencing nodes',
  );
  check(Array.from(state.references).length === state.references.size, 'count = referencing nodes');
  if (policy.refcountMode === 'client') check(state.references.size === 0, 'clients count, not the server');
  for (const key of state.keys) checkKey(state, key, policy);
  checkTokens(state);
  checkChunks(state);
}

function checkKey(state: ResourceState, key: KeyState, policy: Policy): void {
  const waiting = key.lanes.flatMap((lane) => Array.from(lane.waiters));
  checkDistinct(waiting.map(askerKey), 'an asker at most once per queue');
  const free = policy.lockIsolation === 'resource' ? state.keys.every((other) => !other.hold) : !key.hold;
  check(!free || waiting.length === 0, 'no waiter beside a free key');
  check(queueLength(key) <= policy.maxQueueLength, 'queues are bounded');
  for (const lane of key.lanes) {
    check(lane.waiters.size > 0, 'no empty lane');
    const tickets = Array.from(lane.waiters, (waiter) => waiter.ticket);
    check(
      tickets.every((ticket, i) => i === 0 || isLater(ticket, tickets[i - 1]!)),
      'FIFO per lane',
    );
  }
  const present = [...waiting, ...(key.hold ? [key.hold] : [])];
  check(!present.some((asker) => key.dismissals.has(asker)), 'who waits or holds has nothing old to be told');
  checkDistinct(Array.from(key.dismissals, askerKey), 'an asker at most once among the dismissed');
  if (key.failure && key.success) {
    check(
      isLater(key.failure.moment, key.success.moment),
      'a failure is kept beside a success only if newer',
    );
  }
  if (policy.successPolicy === 'handover') check(!key.success, 'hand-over records no success');
}

/** No recorded success is older than a granted delete, and nothing that is held was granted twice. */
function checkTokens(state: ResourceState): void {
  const tokens = state.keys.flatMap((key) => (key.hold ? [key.hold.token] : []));
  checkDistinct(tokens.map(String), 'no two grants in one commit');
  check(
    tokens.every((token) => Number.isSafeInteger(token) && token > 0),
    'tokens are settled',
  );
  const deletion = keyOf(state, 'delete');
  for (const key of state.keys) {
    if (key.type === 'delete') continue;
    const recorded = key.success !== undefined || [...key.dismissals].some(({ outcome }) => outcome.success);
    if (isDeleteHeld(state)) check(!recorded, 'no success beside a held delete');
    if (key.success && deletion?.success) {
      check(isLater(key.success.moment, deletion.success.moment), 'no success older than a granted delete');
    }
  }
}

function checkChunks(state: ResourceState): void {
  const chunks: { id: number; revision: number }[] = [];
  forEachChunk(state, (chunk) => chunks.push(chunk));
  const ids = chunks.map((chunk) => chunk.id);
  checkDistinct(ids.map(String), 'chunks have names of their own');
  check(
    ids.every((id) => id < state.nextChunkId),
    'chunk names are not given out twice',
  );
  check(
    chunks.every((chunk) => chunk.revision > 0),
    'chunks are settled',
  );
}

function checkDistinct(names: readonly string[], invariant: string): void {
  check(new Set(names).size === names.length, invariant);
}

export function check(holds: boolean, invariant: string): asserts holds {
  if (!holds) throw new BrokenInvariantError(invariant);
}

/** A defect of ours, never of the caller: the state must not be kept. */
export class BrokenInvariantError extends Error {
  override readonly name = 'BrokenInvariantError';

  constructor(readonly invariant: string) {
    super(`broken invariant: ${invariant}`);
  }
}
