import { type Acquire } from './commands.js';
import { refer } from './dismiss.js';
import { grant, leaseOf } from './grant.js';
import { blockingHold, judge, type Verdict } from './judge.js';
import { MAX_TYPES_PER_RESOURCE } from './limits.js';
import { THIS_COMMIT } from './moment.js';
import { laneName, positionOf } from './queue.js';
import { referenceEffect } from './reference-rules.js';
import { type AcquireResult, type RefusalCode, type Refused } from './results.js';
import {
  type Dismissal,
  findWaiter,
  type Hold,
  type KeyState,
  NO_WAITERS,
  queueLength,
  type Waiter,
} from './state.js';
import { sameAsker } from './chunked-list.js';
import { type Step } from './step.js';

export function acquire(step: Step, command: Acquire): AcquireResult {
  if (command.sessionEnded) return refused('SESSION_NOT_FOUND', 'the session is unknown or has ended');
  const key = step.key(command.type);
  if (key.hold && sameAsker(key.hold, command.asker)) return holdAgain(step, key, key.hold, command);

  const waiter = findWaiter(key, command.asker);
  const question = {
    absent: command.absent ?? waiter?.absent ?? false,
    ticket: command.ticket,
    dismissal: key.dismissals.find(command.asker),
  };
  const verdict = judge(step.state, key, question, step.nowMs, step.policy);
  if (verdict.kind !== 'proceed') return turnAway(step, key, waiter, command, verdict, question.dismissal);

  const blocking = blockingHold(step.state, command.type, step.policy);
  if (!blocking) return grantNow(step, waiter ? step.removeWaiter(key, waiter) : key, command);
  if (waiter) return waitOn(step, key, waiter, command);
  if (!step.policy.allowMultiNodeDownload) return refused('LOCK_HELD', `held by ${blocking.nodeId}`);
  return enqueue(step, key, command);
}

/** A repeated request is not a second hold; it is also how a waiter claims what it was handed. */
function holdAgain(step: Step, key: KeyState, hold: Hold, command: Acquire): AcquireResult {
  const leaseMs = command.leaseMs ?? hold.leaseMs;
  step.putKey({ ...key, hold: { ...hold, leaseMs, claimed: true, renewed: THIS_COMMIT } });
  return { kind: 'acquired', token: hold.token, leaseMs, referenceCount: step.referenceCount };
}

/** Who is skipped or refused leaves the queue in the same step, and has been told what there was to tell. */
function turnAway(
  step: Step,
  key: KeyState,
  waiter: Waiter | undefined,
  command: Acquire,
  verdict: Exclude<Verdict, { kind: 'proceed' }>,
  dismissal: Dismissal | undefined,
): AcquireResult {
  const left = waiter ? step.removeWaiter(key, waiter) : key;
  if (!command.deliveredLater) step.removeDismissal(left, command.asker);
  if (waiter) emitFor(step, 'withdrawn', command);
  if (verdict.kind === 'refuse') return refused(verdict.code, verdict.error);
  if (referenceEffect(command.type) === 'add-node' && refer(step, [command.asker]) > 0) {
    emitFor(step, 'referenced', command);
  }
  return {
    kind: 'skipped',
    nodeId: verdict.nodeId,
    atMs: verdict.atMs,
    wasDismissed: dismissal?.outcome.success ?? false,
    referenceCount: step.referenceCount,
  };
}

function grantNow(step: Step, key: KeyState, command: Acquire): AcquireResult {
  const full = refuseNewType(step, key);
  if (full) return full;
  const hold = grant(step, key, {
    nodeId: command.asker.nodeId,
    sessionId: command.asker.sessionId,
    subtype: command.subtype,
    leaseMs: leaseOf(command.asker, command.leaseMs, step.policy),
    requestedAtMs: step.nowMs,
    ticket: undefined,
    claimed: true,
  });
  const { token, leaseMs } = hold;
  return { kind: 'acquired', token, leaseMs, referenceCount: step.referenceCount };
}

/** Asking again keeps the place, and costs a write only when there is something to write. */
function waitOn(step: Step, key: KeyState, waiter: Waiter, command: Acquire): AcquireResult {
  const absent = command.absent ?? waiter.absent;
  const leaseMs = command.leaseMs ?? waiter.leaseMs;
  const polledAt = polledAtAfter(command, waiter);
  const differs = absent !== waiter.absent || leaseMs !== waiter.leaseMs || polledAt !== waiter.polledAt;
  if (command.touch || differs) {
    const renewed = { ...waiter, absent, leaseMs, polledAt, renewed: THIS_COMMIT };
    step.putKey({
      ...key,
      lanes: key.lanes.map((lane) => ({ name: lane.name, waiters: lane.waiters.replace(renewed) })),
    });
  }
  return queued(step, waiter, command.type);
}

/** A wait belongs to its latest request; of those at one instance, that instance knows which it is. */
function polledAtAfter({ deliveredLater, at }: Acquire, { polledAt }: Waiter): string | undefined {
  return deliveredLater || polledAt === at ? at : undefined;
}

function enqueue(step: Step, key: KeyState, command: Acquire): AcquireResult {
  const full = refuseNewType(step, key);
  if (full) return full;
  const length = queueLength(key);
  if (length >= step.policy.maxQueueLength) return refused('QUEUE_FULL', `${length} are waiting already`);
  const waiter: Waiter = {
    nodeId: command.asker.nodeId,
    sessionId: command.asker.sessionId,
    subtype: command.subtype,
    ticket: step.moment,
    renewed: THIS_COMMIT,
    requestedAtMs: step.nowMs,
    leaseMs: command.leaseMs,
    absent: command.absent ?? false,
    boundAt: undefined,
    polledAt: command.deliveredLater ? command.at : undefined,
  };
  const left = step.removeDismissal(key, waiter);
  const name = laneName(command.subtype, step.policy);
  const lane = left.lanes.find((other) => other.name === name) ?? { name, waiters: NO_WAITERS };
  const extended = { name, waiters: lane.waiters.append(waiter, step.newChunkId) };
  const lanes = [...left.lanes.filter((other) => other !== lane), extended];
  step.putKey({ ...left, lanes });
  emitFor(step, 'queued', command);
  return queued(step, waiter, command.type);
}

function queued(step: Step, waiter: Waiter, type: string): AcquireResult {
  const position = positionOf(step.key(type), waiter, step.policy);
  return { kind: 'queued', position, ticket: waiter.ticket, referenceCount: step.referenceCount };
}

function refuseNewType(step: Step, key: KeyState): Refused | undefined {
  const { keys } = step.state;
  if (keys.length < MAX_TYPES_PER_RESOURCE || keys.includes(key)) return undefined;
  return refused('TOO_MANY_TYPES', `${keys.length} types are in use on this resource already`);
}

function emitFor(step: Step, name: 'queued' | 'withdrawn' | 'referenced', command: Acquire): void {
  step.emit(name, command.type, command.asker);
}

export function refused(code: RefusalCode, error: string): Refused {
  return { kind: 'refused', code, error };
}
