import { sameAsker } from './chunked-list.js';
import {
  type Bind,
  type Claim,
  type EndSession,
  type ExpireHold,
  type ExpireWaiter,
  type Renew,
  type Touch,
  type Withdraw,
} from './commands.js';
import { sameMoment, THIS_COMMIT } from './moment.js';
import { addressHold, failHold } from './release.js';
import { type Noted, type RenewResult } from './results.js';
import { findWaiter, type Hold, type KeyState, type Waiter } from './state.js';
import { type Step } from './step.js';

const NOTHING_CHANGED: Noted = { kind: 'noted', changed: false };
const CHANGED: Noted = { kind: 'noted', changed: true };

export function renew(step: Step, command: Renew): RenewResult {
  const key = step.key(command.type);
  const addressed = addressHold(key, command);
  if (addressed.kind !== 'hold') return addressed;
  const { hold } = addressed;
  const leaseMs = command.leaseMs ?? hold.leaseMs;
  step.putKey({ ...key, hold: { ...hold, leaseMs, claimed: true, renewed: THIS_COMMIT } });
  return { kind: 'renewed', token: hold.token, leaseMs };
}

export function claim(step: Step, command: Claim): Noted {
  const key = step.key(command.type);
  const hold = heldBy(key, command.asker);
  if (hold && !hold.claimed) {
    step.putKey({ ...key, hold: { ...hold, claimed: true, renewed: THIS_COMMIT } });
    return CHANGED;
  }
  const waiter = findWaiter(key, command.asker);
  if (!waiter || !command.touch) return NOTHING_CHANGED;
  return replaceWaiter(step, key, { ...waiter, renewed: THIS_COMMIT });
}

/** Keeps the place of someone who waits without asking: an open stream or long poll. */
export function touch(step: Step, command: Touch): Noted {
  const key = step.key(command.type);
  const waiter = findWaiter(key, command.asker);
  return waiter ? replaceWaiter(step, key, { ...waiter, renewed: THIS_COMMIT }) : NOTHING_CHANGED;
}

export function withdraw(step: Step, command: Withdraw): Noted {
  const key = step.key(command.type);
  const means = ({ ticket, polledAt }: Hold | Waiter) =>
    (!command.ticket || (ticket !== undefined && sameMoment(ticket, command.ticket))) &&
    (command.polledAt === undefined || command.polledAt === polledAt);
  const waiter = findWaiter(key, command.asker);
  if (waiter && means(waiter)) return dropWaiter(step, key, waiter, command.error);
  const hold = heldBy(key, command.asker);
  if (!hold || hold.claimed || !means(hold)) return NOTHING_CHANGED;
  failHold(step, key, hold, 'released', command.error);
  return CHANGED;
}

export function bind(step: Step, command: Bind): Noted {
  const key = step.key(command.type);
  const hold = heldBy(key, command.asker);
  const boundAt = command.at;
  if (hold && hold.boundAt !== boundAt) {
    step.putKey({ ...key, hold: { ...hold, boundAt } });
    return CHANGED;
  }
  const waiter = findWaiter(key, command.asker);
  if (!waiter || waiter.boundAt === boundAt) return NOTHING_CHANGED;
  return replaceWaiter(step, key, { ...waiter, boundAt });
}

/** Names the renewal it has seen, so that one which arrived in the meantime wins. */
export function expireHold(step: Step, command: ExpireHold): Noted {
  const key = step.key(command.type);
  const { hold } = key;
  if (hold?.token !== command.token || hold.renewed !== command.renewed) return NOTHING_CHANGED;
  if (hasMoved(hold, command)) return NOTHING_CHANGED;
  failHold(step, key, hold, 'expired', command.error);
  return CHANGED;
}

export function expireWaiter(step: Step, command: ExpireWaiter): Noted {
  const key = step.key(command.type);
  const waiter = findWaiter(key, command.asker);
  if (!waiter || !sameMoment(waiter.ticket, command.ticket) || waiter.renewed !== command.renewed) {
    return NOTHING_CHANGED;
  }
  if (hasMoved(waiter, command)) return NOTHING_CHANGED;
  return dropWaiter(step, key, waiter, command.error);
}

/** Its stream was lost, and opened again elsewhere. */
function hasMoved({ boundAt }: Hold | Waiter, command: ExpireHold | ExpireWaiter): boolean {
  return command.boundAt !== undefined && command.boundAt !== boundAt;
}

/** Failure for its hold, withdrawal for its wait. */
export function endSession(step: Step, command: EndSession): Noted {
  const key = step.key(command.type);
  const waiter = findWaiter(key, command.asker);
  if (waiter) return dropWaiter(step, key, waiter, command.error);
  const hold = heldBy(key, command.asker);
  if (!hold) return NOTHING_CHANGED;
  failHold(step, key, hold, 'expired', command.error);
  return CHANGED;
}

function heldBy(key: KeyState, asker: Claim['asker']): Hold | undefined {
  return key.hold && sameAsker(key.hold, asker) ? key.hold : undefined;
}

function dropWaiter(step: Step, key: KeyState, waiter: Waiter, error: string): Noted {
  step.removeWaiter(key, waiter);
  const event = step.emit('withdrawn', key.type, waiter);
  event.error = error;
  event.sinceMs = waiter.requestedAtMs;
  return CHANGED;
}

function replaceWaiter(step: Step, key: KeyState, waiter: Waiter): Noted {
  const lanes = key.lanes.map((lane) => ({ name: lane.name, waiters: lane.waiters.replace(waiter) }));
  step.putKey({ ...key, lanes });
  return CHANGED;
}
