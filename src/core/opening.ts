import { type Asker, sameAsker } from './chunked-list.js';
import { blockingHold, isDeleteHeld } from './judge.js';
import { isLater, type Moment, sameMoment } from './moment.js';
import { type Policy } from './policy.js';
import { skipsWhenReferenced } from './reference-rules.js';
import { emptyKey, type Hold, type KeyState, keyOf, type Outcome, type ResourceState } from './state.js';

/** What a subscriber of a key is told: the events that concern it, live or when it comes. */
export interface Told {
  readonly name: 'completed' | 'assigned' | 'failed';
  readonly moment: Moment;
  readonly nodeId: string;
  readonly success: boolean;
  readonly error: string;
  readonly token: number | undefined;
  readonly atMs: number;
}

export interface Subscriber {
  readonly type: string;
  readonly asker: Asker | undefined;
  /** Of the last event it saw. */
  readonly lastSeen: Moment | undefined;
}

/**
 * What a subscriber is told when it comes, oldest first: what it missed, or the present truth. Never an old success for the present
 * one, and never another node's hand-over to one that asks for nothing missed.
 */
export function openingEvents(
  state: ResourceState,
  asOf: Moment,
  { type, asker, lastSeen }: Subscriber,
  policy: Policy,
): Told[] {
  const key = keyOf(state, type) ?? emptyKey(type);
  const told: Told[] = [];
  const tell = (event: Told | undefined) => {
    if (event && !told.some(({ moment }) => sameMoment(moment, event.moment))) told.push(event);
  };
  const dismissal = asker && key.dismissals.find(asker);
  if (dismissal) tell(ofOutcome(dismissal.outcome));
  if (asker && key.hold && sameAsker(key.hold, asker)) tell(ofHold(key.hold));
  if (lastSeen) {
    for (const missed of [key.success && ofOutcome(key.success), newestEvent(key)]) {
      if (missed && isLater(missed.moment, lastSeen)) tell(missed);
    }
  } else if (isQuiet(key) && key.success && !key.failure) tell(ofOutcome(key.success));
  tell(ofReferences(state, key, asOf, policy));
  return told.sort((a, b) => (isLater(a.moment, b.moment) ? 1 : -1));
}

/** Would someone who asks now be let through, or is a hand-over waiting to be claimed? */
export function worthAsking(state: ResourceState, type: string, policy: Policy): boolean {
  const blocking = blockingHold(state, type, policy);
  return !blocking || !blocking.claimed;
}

function isQuiet(key: KeyState): boolean {
  return !key.hold && key.lanes.length === 0;
}

function newestEvent(key: KeyState): Told | undefined {
  const events = [
    key.success && ofOutcome(key.success),
    key.failure && ofOutcome(key.failure),
    key.hold?.ticket && ofHold(key.hold),
  ].filter((event) => event !== undefined);
  return events.toSorted((a, b) => (isLater(a.moment, b.moment) ? -1 : 1))[0];
}

/** A pull that nobody runs and somebody has done: the earliest reference is the worker to name. */
function ofReferences(state: ResourceState, key: KeyState, asOf: Moment, policy: Policy): Told | undefined {
  const counted = policy.refcountMode === 'server' && skipsWhenReferenced(key.type);
  const first = state.references.first;
  if (!counted || !first || isDeleteHeld(state) || blockingHold(state, key.type, policy)) return undefined;
  if (key.success) return ofOutcome(key.success);
  const { nodeId, sinceMs } = first;
  return {
    name: 'completed',
    moment: asOf,
    nodeId,
    success: true,
    error: '',
    token: undefined,
    atMs: sinceMs ?? 0,
  };
}

function ofOutcome({ moment, success, error, nodeId, token, atMs }: Outcome): Told {
  return { name: success ? 'completed' : 'failed', moment, nodeId, success, error, token, atMs };
}

function ofHold({ nodeId, token, n, acquiredAtMs }: Hold): Told {
  const moment = { revision: token, n };
  return { name: 'assigned', moment, nodeId, success: false, error: '', token, atMs: acquiredAtMs };
}
