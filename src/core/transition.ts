import { acquire } from './acquire.js';
import { type Command, type ResultOf } from './commands.js';
import { type LockEvent } from './events.js';
import { bind, claim, endSession, expireHold, expireWaiter, renew, touch, withdraw } from './liveness.js';
import { type Policy } from './policy.js';
import { addReference, releaseReference } from './references.js';
import { forceRelease, release } from './release.js';
import { forget, spend } from './remembering.js';
import { type Result } from './results.js';
import { type ResourceState } from './state.js';
import { Step } from './step.js';

/**
 * The state machine of one resource. Pure: no clock, no randomness, no I/O; refusals are results; the same state is
 * returned (the very object) when nothing changed.
 *
 * A **key** (one type of operation on the resource) is *free* or *held*. Beside it stand a queue, which is empty
 * while the key could be granted, and a memory: the newest success, a newer fatal failure or refusal, the dismissals
 * not yet told, and the last release.
 *
 *     free ──acquire──▶ held (claimed) ◀──acquire, renew, claim── held (unclaimed)
 *       ▲                 │                                          ▲      │
 *       │                 ├── success ──▶ every waiter dismissed     │      │
 *       │                 ├── fatal ────▶ every waiter dismissed     │      │
 *       └── nobody left ──┴── failure, expiry, force, session end ───┘◀─────┘ not claimed in time
 *                              (the next waiter is judged and served)
 *
 * - **acquire** (`acquire.ts`) asks `judge.ts` whether the work is still to be done: references and remembered
 *   outcomes make it a skip or a refusal. Else it is granted, or queued behind the hold that blocks it.
 * - **release** (`release.ts`) ends a hold with its outcome; **serve** (`serve.ts`) judges the waiters again, one
 *   after the other, until one is handed the lock or none is left. Under resource isolation the resource is served,
 *   not the key.
 * - **liveness** (`liveness.ts`): renewals and claims keep a hold; expiry, withdrawal and session end are what happens
 *   without them. An expiry names the renewal it has seen and is void if there was a later one.
 * - **memory** (`remembering.ts`): dismissals are spent when told; everything is forgotten in time.
 *
 * What is created in the commit being built carries the mark `THIS_COMMIT`; `settle` replaces it once the store has
 * given the commit its revision. That revision is the fencing token of what was granted in it.
 */
export function transition<C extends Command>(
  state: ResourceState,
  command: C,
  nowMs: number,
  policy: Policy,
): Transition<ResultOf<C>> {
  const step = new Step(state, nowMs, policy);
  const result = apply(step, command) as ResultOf<C>;
  return { state: step.state, events: step.events, result };
}

export interface Transition<R extends Result = Result> {
  readonly state: ResourceState;
  readonly events: readonly LockEvent[];
  readonly result: R;
}

function apply(step: Step, command: Command): Result {
  switch (command.kind) {
    case 'acquire':
      return acquire(step, command);
    case 'release':
      return release(step, command);
    case 'renew':
      return renew(step, command);
    case 'claim':
      return claim(step, command);
    case 'touch':
      return touch(step, command);
    case 'spend':
      return spend(step, command);
    case 'withdraw':
      return withdraw(step, command);
    case 'bind':
      return bind(step, command);
    case 'expire-hold':
      return expireHold(step, command);
    case 'expire-waiter':
      return expireWaiter(step, command);
    case 'end-session':
      return endSession(step, command);
    case 'force-release':
      return forceRelease(step, command);
    case 'forget':
      return forget(step, command);
    case 'add-reference':
      return addReference(step, command);
    case 'release-reference':
      return releaseReference(step, command);
  }
}
