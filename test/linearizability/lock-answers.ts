import {
  askerOf,
  type Cancel,
  type ChangeReference,
  type End,
  type Lock,
  type LockInput,
  type LockOutput,
  type Refused,
  type Renew,
  type Status,
  type Unlock,
} from './lock-operations.js';
import { endRun, type Fresh, grant, leave, turnedAway } from './lock-rules.js';
import {
  dismissalOf,
  type Hold,
  isDeleteHeld,
  isNewer,
  type KeyState,
  keyOf,
  type LockState,
  newerTicket,
  positionOf,
  type Release,
  withKey,
  withoutDismissal,
  withoutWaiter,
  withReferences,
} from './lock-state.js';

export interface Answered {
  readonly state: LockState;
  readonly output: LockOutput;
}

/** What the resource answers and becomes, given the numbers that only the server can choose. */
export function answer(state: LockState, input: LockInput, fresh: Fresh): Answered {
  switch (input.do) {
    case 'lock':
      return lock(state, input, fresh);
    case 'unlock':
      return unlock(state, input, fresh);
    case 'renew':
      return renew(state, input);
    case 'status':
      return status(state, input);
    case 'cancel':
      return cancel(state, input, fresh);
    case 'end':
      return end(state, input, fresh);
    case 'references':
      return { state, output: { is: 'references', nodes: state.references } };
    default:
      return changeReference(state, input);
  }
}

function lock(state: LockState, input: Lock, fresh: Fresh): Answered {
  const key = keyOf(state, input.type);
  const asker = askerOf(input);
  const { node } = input;
  const refresh = input.refresh ?? 0;
  const references = state.references.length;
  if (key.hold?.asker === asker) {
    const hold = { ...key.hold, claimed: true, refresh };
    return {
      state: withKey(state, { ...key, hold }),
      output: { is: 'acquired', token: hold.token, references },
    };
  }
  const waiter = key.queue.find((other) => other.asker === asker);
  const absent = input.absent ?? waiter?.absent ?? false;
  const verdict = turnedAway(state, key, { absent, ticket: input.ticket, asker });
  if (verdict) return sendAway(state, key, input, verdict);
  if (!key.hold) {
    const granted = grant(state, input.type, { asker, node, claimed: true, refresh }, fresh.token);
    return { state: granted, output: { is: 'acquired', token: fresh.token, references } };
  }
  const waiting = { asker, node, ticket: waiter ? waiter.ticket : fresh.ticket, absent, refresh };
  const queued = wait(key, waiting);
  const { ticket } = waiting;
  return {
    state: withKey(state, queued),
    output: { is: 'queued', ticket, position: positionOf(queued, asker), references },
  };
}

/** Asking again keeps the place. */
function wait(key: KeyState, waiting: KeyState['queue'][number]): KeyState {
  if (positionOf(key, waiting.asker) > 0) {
    return { ...key, queue: key.queue.map((other) => (other.asker === waiting.asker ? waiting : other)) };
  }
  return {
    ...withoutDismissal(key, waiting.asker),
    queue: [...key.queue, waiting],
    newestTicket: newerTicket(key.newestTicket, waiting.ticket),
  };
}

function sendAway(state: LockState, key: KeyState, input: Lock, as: string): Answered {
  const asker = askerOf(input);
  const left = withKey(state, withoutDismissal(withoutWaiter(key, asker), asker));
  if (as !== 'skip') return { state: left, output: { is: 'refused', code: as } };
  const counted = key.type === 'pull' ? withReferences(left, [input.node]) : left;
  return { state: counted, output: { is: 'skip', references: counted.references.length } };
}

function unlock(state: LockState, input: Unlock, fresh: Fresh): Answered {
  const key = keyOf(state, input.type);
  if (key.last && isRepeated(key.last, input)) {
    return { state, output: { is: 'released', next: key.last.next } };
  }
  const addressed = addressedHold(key, input);
  if ('is' in addressed) return { state, output: addressed };
  const { asker, node, token } = addressed;
  const { state: ended, next } = endRun(state, key, input, fresh);
  const { success, error, fatal } = input;
  const last = { asker, node, token, success, error, fatal, next };
  return {
    state: withKey(ended, { ...keyOf(ended, input.type), last }),
    output: { is: 'released', next },
  };
}

function isRepeated(last: Release, input: Unlock): boolean {
  const same = input.token === undefined ? last.asker === askerOf(input) : input.token === last.token;
  return (
    same &&
    last.node === input.node &&
    last.success === input.success &&
    last.error === input.error &&
    last.fatal === input.fatal
  );
}

function addressedHold({ hold }: KeyState, input: Unlock | Renew): Hold | Refused {
  if (!hold) return { is: 'refused', code: 'LOCK_NOT_FOUND' };
  if (hold.node !== input.node) return { is: 'refused', code: 'NOT_HOLDER' };
  if (input.token !== undefined && input.token !== hold.token) return { is: 'refused', code: 'STALE_TOKEN' };
  if (input.token === undefined && hold.asker !== askerOf(input))
    return { is: 'refused', code: 'NOT_HOLDER' };
  return hold;
}

function renew(state: LockState, input: Renew): Answered {
  const key = keyOf(state, input.type);
  const hold = addressedHold(key, input);
  if ('is' in hold) return { state, output: hold };
  const renewed = { ...hold, claimed: true, refresh: input.refresh ?? 0 };
  return { state: withKey(state, { ...key, hold: renewed }), output: { is: 'renewed', token: hold.token } };
}

function status(state: LockState, input: Status): Answered {
  const key = keyOf(state, input.type);
  const asker = askerOf(input);
  const acquired = key.hold?.asker === asker;
  const position = positionOf(key, asker);
  const success = key.hold || position > 0 ? undefined : endOf(state, key, input);
  const output = {
    is: 'status' as const,
    acquired,
    completed: success !== undefined,
    success: success ?? false,
    holder: key.hold?.node,
    token: key.hold?.token,
    position,
    waiting: key.queue.length,
    references: state.references.length,
  };
  if (!acquired) return { state, output };
  return { state: withKey(state, { ...key, hold: { ...key.hold!, claimed: true } }), output };
}

/** Whether the work the asker means is over, and well. */
function endOf(state: LockState, key: KeyState, input: Status): boolean | undefined {
  if (key.type === 'pull' && state.references.length > 0 && !isDeleteHeld(state)) return true;
  if (isNewer(key.success, input.ticket)) return true;
  const dismissal = dismissalOf(key, askerOf(input));
  if (dismissal) return dismissal === 'skip';
  if (input.ticket !== undefined) return isNewer(key.failure, input.ticket) ? false : undefined;
  if (key.failure) return false;
  return key.success ? true : undefined;
}

function cancel(state: LockState, input: Cancel, fresh: Fresh): Answered {
  const key = keyOf(state, input.type);
  const asker = askerOf(input);
  const holds = key.hold?.asker === asker && !key.hold.claimed;
  const changed = holds || positionOf(key, asker) > 0;
  return {
    state: changed ? leave(state, input, asker, fresh) : state,
    output: { is: 'cancelled', changed },
  };
}

function end(state: LockState, input: End, fresh: Fresh): Answered {
  const key = keyOf(state, input.type);
  const asker = askerOf(input);
  const hold = key.hold?.asker === asker ? key.hold : undefined;
  const waiter = key.queue.find((other) => other.asker === asker);
  const meant = {
    waiting: waiter !== undefined,
    held: hold !== undefined,
    unclaimed: hold?.claimed === false,
    any: true,
  }[input.only ?? 'any'];
  const unheard = input.refresh === undefined || (hold ?? waiter)?.refresh === input.refresh;
  return { state: meant && unheard ? leave(state, input, asker, fresh) : state, output: { is: 'ended' } };
}

function changeReference(state: LockState, { do: change, node }: ChangeReference): Answered {
  if (change === 'add-reference' && isDeleteHeld(state)) {
    return { state, output: { is: 'refused', code: 'LOCK_HELD' } };
  }
  const references = state.references.filter((other) => other !== node);
  const changed = change === 'add-reference' ? withReferences(state, [node]) : { ...state, references };
  return { state: changed, output: { is: 'counted', count: changed.references.length } };
}
