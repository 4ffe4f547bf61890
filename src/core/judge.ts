import { isLater, type Moment } from './moment.js';
import { type Policy } from './policy.js';
import { refusedWhenReferenced, skipsWhenReferenced } from './reference-rules.js';
import { type RefusalCode } from './results.js';
import { type Dismissal, type Hold, type KeyState, keyOf, type ResourceState } from './state.js';

export type Verdict =
  | { readonly kind: 'proceed' }
  | { readonly kind: 'skip'; readonly nodeId: string; readonly atMs: number | undefined }
  | { readonly kind: 'refuse'; readonly code: RefusalCode; readonly error: string };

export interface Question {
  /** The asker looked and the bytes are not there. */
  readonly absent: boolean;
  readonly ticket: Moment | undefined;
  readonly dismissal: Dismissal | undefined;
}

const PROCEED: Verdict = { kind: 'proceed' };

/**
 * Is the work still to be done, and may it be? Steps 3 and 4 of the design, for a request that arrives and
 * again for a waiter at the moment it is served.
 */
export function judge(
  state: ResourceState,
  key: KeyState,
  question: Question,
  nowMs: number,
  policy: Policy,
): Verdict {
  const absent = question.absent && key.type === 'pull';
  const maySkip = key.type === 'delete' || !isDeleteHeld(state);
  if (!absent) {
    const byReferences = judgeReferences(state, key.type, maySkip, policy);
    if (byReferences) return byReferences;
  }
  const { success } = key;
  if (maySkip && success) {
    const missed = question.ticket !== undefined && isLater(success.moment, question.ticket);
    const recent = !absent && policy.completedSkipMs > 0 && nowMs - success.atMs < policy.completedSkipMs;
    if (missed || recent) return { kind: 'skip', nodeId: success.nodeId, atMs: success.atMs };
  }
  if (question.dismissal && !absent) return judgeDismissal(question.dismissal, maySkip);
  return PROCEED;
}

function judgeReferences(
  state: ResourceState,
  type: string,
  maySkip: boolean,
  policy: Policy,
): Verdict | undefined {
  const count = state.references.size;
  if (policy.refcountMode === 'client' || count === 0) return undefined;
  if (refusedWhenReferenced(type, policy.updateRequiresNoRef)) {
    return { kind: 'refuse', code: 'RESOURCE_IN_USE', error: inUse(count) };
  }
  if (!skipsWhenReferenced(type) || !maySkip) return undefined;
  const earliest = state.references.first!;
  return { kind: 'skip', nodeId: earliest.nodeId, atMs: earliest.sinceMs };
}

function judgeDismissal({ outcome }: Dismissal, maySkip: boolean): Verdict {
  if (outcome.code) return { kind: 'refuse', code: outcome.code, error: outcome.error };
  return maySkip ? { kind: 'skip', nodeId: outcome.nodeId, atMs: outcome.atMs } : PROCEED;
}

export function isDeleteHeld(state: ResourceState): boolean {
  return keyOf(state, 'delete')?.hold !== undefined;
}

/** The hold that keeps this key from being granted. */
export function blockingHold(state: ResourceState, type: string, policy: Policy): Hold | undefined {
  if (policy.lockIsolation === 'operation') return keyOf(state, type)?.hold;
  return state.keys.find((key) => key.hold)?.hold;
}

export function inUse(count: number): string {
  return `in use by ${count} ${count === 1 ? 'node' : 'nodes'}`;
}
