import { type Cancel, type Unlock } from './lock-operations.js';
import {
  type Dismissal,
  dismissalOf,
  type Hold,
  isDeleteHeld,
  isNewer,
  type KeyState,
  keyOf,
  type LockState,
  positionOf,
  type Waiter,
  withDismissals,
  withKey,
  withoutDismissal,
  withoutWaiter,
  withReferences,
} from './lock-state.js';

/** Numbers only the server can choose, as far as they were told. */
export interface Fresh {
  readonly token?: number | undefined;
  readonly ticket?: string | undefined;
}

type Asking = Pick<Waiter, 'absent'> & { readonly asker?: string; readonly ticket?: string | undefined };

/** Why the work is not to be done by this asker, if so: steps 3 and 4 of the rules for asking. */
export function turnedAway(state: LockState, key: KeyState, asking: Asking): Dismissal | undefined {
  const { type } = key;
  const absent = asking.absent && type === 'pull';
  const maySkip = type === 'delete' || !isDeleteHeld(state);
  if (!absent && state.references.length > 0) {
    if (type === 'delete') return 'RESOURCE_IN_USE';
    if (type === 'pull' && maySkip) return 'skip';
  }
  if (maySkip && isNewer(key.success, asking.ticket)) return 'skip';
  const dismissal = absent || asking.asker === undefined ? undefined : dismissalOf(key, asking.asker);
  return dismissal === 'skip' && !maySkip ? undefined : dismissal;
}

/** A kept success never speaks of a resource that is gone. */
function voidOpposed(state: LockState, granted: string): LockState {
  const keys = state.keys.map((key) => {
    if ((granted === 'delete') === (key.type === 'delete')) return key;
    return { ...key, success: undefined, dismissals: key.dismissals.filter(([, as]) => as !== 'skip') };
  });
  return { ...state, keys };
}

type Granted = Pick<Hold, 'asker' | 'node' | 'claimed' | 'refresh'>;

export function grant(state: LockState, type: string, to: Granted, token: number | undefined): LockState {
  const key = withoutDismissal(withoutWaiter(keyOf(state, type), to.asker), to.asker);
  const last = key.last?.asker === to.asker ? undefined : key.last;
  const hold = { ...to, token, above: state.newestToken, below: Number.MAX_SAFE_INTEGER };
  const held = withKey(voidOpposed(state, type), { ...key, hold, last });
  return token === undefined ? held : told(held, token);
}

/** A token that is known to be granted now: those granted before are smaller. */
function told(state: LockState, token: number): LockState {
  const keys = state.keys.map((key) =>
    key.hold && key.hold.token === undefined
      ? { ...key, hold: { ...key.hold, below: Math.min(key.hold.below, token) } }
      : key,
  );
  return { ...state, keys, newestToken: Math.max(state.newestToken, token) };
}

/** The key is free: the next in line who is not turned away has it. */
export function serve(state: LockState, type: string, fresh: Fresh): { state: LockState; next?: string } {
  const key = keyOf(state, type);
  const [head] = key.queue;
  if (!head) return { state };
  const verdict = turnedAway(state, key, { absent: head.absent, ticket: head.ticket });
  if (!verdict) {
    const { asker, node, refresh } = head;
    return {
      state: grant(state, type, { asker, node, refresh, claimed: false }, fresh.token),
      next: node,
    };
  }
  if (verdict === 'skip') return serve(dismiss(state, key, [head], 'skip'), type, fresh);
  const failed = { ...key, failure: { upTo: key.newestTicket } };
  return { state: dismiss(state, failed, key.queue, verdict) };
}

/** A skipped pull makes its node a reference. */
function dismiss(state: LockState, key: KeyState, waiters: readonly Waiter[], as: Dismissal): LockState {
  const askers = waiters.map(({ asker }) => asker);
  const queue = key.queue.filter((waiter) => !waiters.includes(waiter));
  const left = withKey(state, withDismissals({ ...key, queue }, askers, as));
  const counted = as === 'skip' && key.type === 'pull';
  return counted
    ? withReferences(
        left,
        waiters.map(({ node }) => node),
      )
    : left;
}

/** The run is over; the asker of this release is given the same answer again. */
export function endRun(
  state: LockState,
  key: KeyState,
  outcome: Pick<Unlock, 'success' | 'fatal'>,
  fresh: Fresh,
): { state: LockState; next?: string } {
  const { type, queue, newestTicket } = key;
  const free = { ...key, hold: undefined };
  const told = { upTo: newestTicket };
  if (!outcome.success) {
    if (!outcome.fatal) return serve(withKey(state, free), type, fresh);
    return { state: dismiss(state, { ...free, failure: told }, queue, 'OPERATION_FAILED') };
  }
  const counted = afterSuccess(state, key);
  if (type !== 'delete' && isDeleteHeld(state)) {
    return serve(withKey(counted, { ...free, failure: undefined }), type, fresh);
  }
  return { state: dismiss(counted, { ...free, success: told, failure: undefined }, queue, 'skip') };
}

function afterSuccess(state: LockState, { type, hold }: KeyState): LockState {
  if (type === 'pull') return withReferences(state, [hold!.node]);
  return type === 'delete' ? { ...state, references: [] } : state;
}

/** Who leaves by itself, or of whom nothing was heard: a wait is withdrawn, a hold has failed. */
export function leave(
  state: LockState,
  { type }: Pick<Cancel, 'type'>,
  asker: string,
  fresh: Fresh,
): LockState {
  const key = keyOf(state, type);
  if (positionOf(key, asker) > 0) return withKey(state, withoutWaiter(key, asker));
  if (key.hold?.asker !== asker) return state;
  return endRun(state, key, { success: false, fatal: false }, fresh).state;
}
