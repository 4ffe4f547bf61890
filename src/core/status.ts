import { type Asker, sameAsker } from './chunked-list.js';
import { isDeleteHeld } from './judge.js';
import { isLater, type Moment } from './moment.js';
import { type Policy } from './policy.js';
import { positionOf } from './queue.js';
import { skipsWhenReferenced } from './reference-rules.js';
import {
  emptyKey,
  findWaiter,
  type Hold,
  type KeyState,
  keyOf,
  queueLength,
  type ResourceState,
} from './state.js';

export interface Status {
  /** The asker holds the key. */
  readonly acquired: boolean;
  /** The work the asker means is over; `success` and `error` say how. */
  readonly completed: boolean;
  readonly success: boolean;
  readonly error: string;
  readonly completedAtMs: number | undefined;
  readonly holder: Hold | undefined;
  /** 0: not queued. */
  readonly position: number;
  readonly queueLength: number;
  readonly referenceCount: number | null;
}

export interface StatusQuestion {
  readonly type: string;
  readonly asker?: Asker | undefined;
  readonly ticket?: Moment | undefined;
}

/** Read-only: what there is to say to someone who asks about a key. */
export function statusOf(state: ResourceState, question: StatusQuestion, policy: Policy): Status {
  const key = keyOf(state, question.type) ?? emptyKey(question.type);
  const { asker } = question;
  const queued = asker !== undefined && findWaiter(key, asker) !== undefined;
  const end = key.hold || queued ? undefined : endOf(state, key, question, policy);
  return {
    acquired: asker !== undefined && key.hold !== undefined && sameAsker(key.hold, asker),
    completed: end !== undefined,
    success: end?.success ?? false,
    error: end?.error ?? '',
    completedAtMs: end?.atMs,
    holder: key.hold,
    position: queued ? positionOf(key, asker, policy) : 0,
    queueLength: queueLength(key),
    referenceCount: policy.refcountMode === 'server' ? state.references.size : null,
  };
}

interface End {
  readonly success: boolean;
  readonly error: string;
  readonly atMs: number | undefined;
}

/**
 * The end a poller may take for that of its own work: told to it personally, newer than its ticket, or, for one
 * without a ticket, the newest thing on the key. Never an old success for the present one.
 */
function endOf(
  state: ResourceState,
  key: KeyState,
  { asker, ticket }: StatusQuestion,
  policy: Policy,
): End | undefined {
  const counted = policy.refcountMode === 'server' && skipsWhenReferenced(key.type) && !isDeleteHeld(state);
  const reference = counted ? state.references.first : undefined;
  if (reference) return { success: true, error: '', atMs: reference.sinceMs };
  const missed = ticket && key.success && isLater(key.success.moment, ticket) ? key.success : undefined;
  const dismissal = asker && key.dismissals.find(asker);
  if (missed ?? dismissal) return missed ?? dismissal?.outcome;
  if (ticket) return key.failure && isLater(key.failure.moment, ticket) ? key.failure : undefined;
  return key.lanes.length === 0 ? (key.failure ?? key.success) : undefined;
}
