import { type Asker, sameAsker } from './chunked-list.js';
import { THIS_COMMIT } from './moment.js';
import { type Policy } from './policy.js';
import { type Hold, type KeyState } from './state.js';
import { type Step } from './step.js';

type NewHold = Omit<Hold, 'token' | 'renewed' | 'acquiredAtMs' | 'boundAt' | 'polledAt' | 'n'> & {
  readonly boundAt?: string | undefined;
  readonly polledAt?: string | undefined;
};

/** The token is the revision of the commit that grants. */
export function grant(step: Step, key: KeyState, request: NewHold): Hold {
  const hold: Hold = {
    nodeId: request.nodeId,
    sessionId: request.sessionId,
    subtype: request.subtype,
    token: THIS_COMMIT,
    renewed: THIS_COMMIT,
    leaseMs: request.leaseMs,
    requestedAtMs: request.requestedAtMs,
    acquiredAtMs: step.nowMs,
    ticket: request.ticket,
    claimed: request.claimed,
    boundAt: request.boundAt,
    polledAt: request.polledAt,
    n: step.moment.n,
  };
  const held = step.removeDismissal(key, request);
  const again = held.lastRelease !== undefined && sameAsker(held.lastRelease, hold);
  step.putKey({ ...held, hold, lastRelease: again ? undefined : held.lastRelease });
  voidOpposed(step, key.type);
  const event = step.emit(request.claimed ? 'granted' : 'assigned', key.type, hold);
  event.token = hold.token;
  event.sinceMs = hold.requestedAtMs;
  return hold;
}

/** A session is liveness enough: the default lease is the safety net of those who have none. 0 = never. */
export function leaseOf(asker: Asker, requestedMs: number | undefined, policy: Policy): number {
  return requestedMs ?? (asker.sessionId === undefined ? policy.defaultLeaseMs : 0);
}

/**
 * A kept success never speaks of a resource that is gone: a delete voids the successes, and dismissals by success, of
 * the other types, and any other type voids the delete's. Beside a held delete nothing is recorded, so that its success
 * finds nothing more to void.
 */
function voidOpposed(step: Step, type: string): void {
  for (const key of step.state.keys) {
    const opposed = type === 'delete' ? key.type !== 'delete' : key.type === 'delete';
    if (!opposed) continue;
    const dismissals = key.dismissals.filter(({ outcome }) => !outcome.success);
    if (key.success || dismissals !== key.dismissals) step.putKey({ ...key, success: undefined, dismissals });
  }
}
