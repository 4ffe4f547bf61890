import { refused } from './acquire.js';
import { sameAsker } from './chunked-list.js';
import { type ForceRelease, type Release, type Renew } from './commands.js';
import { dismissQueue, refer } from './dismiss.js';
import { type EventName } from './events.js';
import { isDeleteHeld } from './judge.js';
import { referenceEffect } from './reference-rules.js';
import { type RefusalCode, type Refused, type ReleaseResult } from './results.js';
import { serve } from './serve.js';
import {
  type Hold,
  type KeyState,
  keyOf,
  type LastRelease,
  NO_REFERENCES,
  type Outcome,
  type ResourceState,
} from './state.js';
import { type Step } from './step.js';

export function release(step: Step, command: Release): ReleaseResult {
  const judged = judgeRelease(step.state, command);
  if (judged.kind !== 'hold') return judged;
  const key = step.key(command.type);
  const { hold } = judged;
  const moment = step.moment;
  const nextHolder = command.success
    ? succeed(step, key, hold)
    : command.fatal
      ? failFatally(step, key, hold, command.error)
      : failHold(step, key, hold, 'released', command.error);
  const lastRelease: LastRelease = {
    nodeId: hold.nodeId,
    sessionId: hold.sessionId,
    moment,
    token: hold.token,
    success: command.success,
    error: command.error,
    fatal: command.fatal,
    nextHolder,
  };
  step.putKey({ ...step.key(command.type), lastRelease });
  return { kind: 'released', nextHolder };
}

/**
 * Whether a release may go ahead, without doing it: the holder guard asks the same question. A repetition of the last
 * release gets the same answer again, also after the key has passed on: the first answer may have been lost.
 */
export function judgeRelease(
  state: ResourceState,
  command: Release,
): ReleaseResult | { readonly kind: 'hold'; readonly hold: Hold } {
  const key = keyOf(state, command.type);
  if (key?.lastRelease && isRepeated(key.lastRelease, command)) {
    return { kind: 'released', nextHolder: key.lastRelease.nextHolder };
  }
  return addressHold(key, command);
}

/** An asker that holds the key again has no last release any more (see `grant`). */
function isRepeated(last: LastRelease, command: Release): boolean {
  const sameNodeWithToken = last.nodeId === command.asker.nodeId && command.token === last.token;
  return (
    (sameAsker(last, command.asker) || sameNodeWithToken) &&
    (command.token === undefined || command.token === last.token) &&
    last.success === command.success &&
    last.error === command.error &&
    last.fatal === command.fatal
  );
}

/** The hold a release or renewal means: its asker's, or the same node's with the token. */
export function addressHold(
  key: KeyState | undefined,
  command: Release | Renew,
): Refused | { readonly kind: 'hold'; readonly hold: Hold } {
  if (command.sessionEnded) return refused('SESSION_NOT_FOUND', 'the session is unknown or has ended');
  const hold = key?.hold;
  const gone = (code: RefusalCode, fact: string) =>
    refused(code, whyTaken(key?.lastRelease, command) ?? fact);
  if (!hold) return gone('LOCK_NOT_FOUND', 'nobody holds this lock');
  if (hold.nodeId !== command.asker.nodeId) return gone('NOT_HOLDER', `held by ${hold.nodeId}`);
  if (command.token !== undefined && command.token !== hold.token) {
    return gone('STALE_TOKEN', 'the hold has another token');
  }
  if (command.token === undefined && !sameAsker(hold, command.asker)) {
    return refused('NOT_HOLDER', `held by another session of ${hold.nodeId}`);
  }
  return { kind: 'hold', hold };
}

export function forceRelease(step: Step, command: ForceRelease): ReleaseResult {
  const key = step.key(command.type);
  if (!key.hold) return refused('LOCK_NOT_FOUND', 'nobody holds this lock');
  if (key.hold.token !== command.token) {
    return refused('STALE_TOKEN', 'the hold has another token');
  }
  const { hold } = key;
  const { moment } = step;
  const nextHolder = failHold(step, key, hold, 'released', command.reason);
  const lastRelease: LastRelease = {
    nodeId: hold.nodeId,
    sessionId: hold.sessionId,
    moment,
    token: hold.token,
    success: false,
    error: `${BY_FORCE}${command.reason}`,
    fatal: false,
    nextHolder,
  };
  step.putKey({ ...step.key(command.type), lastRelease });
  return { kind: 'released', nextHolder };
}

/** How the error of a last release begins that its holder has not asked for. Stored: do not change it. */
const BY_FORCE = 'released by force: ';

/** Whoever lost a hold by force hears of it when it names that hold again. */
function whyTaken(last: LastRelease | undefined, { asker, token }: Release | Renew): string | undefined {
  if (last?.nodeId !== asker.nodeId || !last.error.startsWith(BY_FORCE)) return undefined;
  const isMeant = token === undefined ? sameAsker(last, asker) : token === last.token;
  return isMeant ? last.error : undefined;
}

/**
 * Beside a delete that is held (operation isolation), and under hand-over, a success counts its references but is not
 * recorded and dismisses nobody: the next waiter is served.
 */
function succeed(step: Step, key: KeyState, hold: Hold): string | undefined {
  applyReferences(step, key.type, hold);
  const { type } = key;
  const besideDelete = type !== 'delete' && isDeleteHeld(step.state);
  if (besideDelete || step.policy.successPolicy === 'handover') {
    step.putKey({ ...key, hold: undefined, failure: undefined });
    const event = emitEnd(step, 'completed', type, hold);
    event.success = true;
    event.observersOnly = true;
    return serve(step, type);
  }
  const success: Outcome = {
    moment: step.moment,
    success: true,
    code: undefined,
    error: '',
    nodeId: hold.nodeId,
    token: hold.token,
    atMs: step.nowMs,
  };
  const dismissed = dismissQueue(
    step,
    step.put({ ...key, hold: undefined, success, failure: undefined }),
    success,
  );
  const event = emitEnd(step, 'completed', type, hold);
  event.success = true;
  event.dismissed = dismissed;
  return serve(step, type);
}

function applyReferences(step: Step, type: string, hold: Hold): void {
  if (step.policy.refcountMode === 'client') return;
  const effect = referenceEffect(type);
  if (effect === 'add-node') refer(step, [hold]);
  else if (effect === 'drop-all' && step.state.references.size > 0) step.putReferences(NO_REFERENCES);
}

/** Nobody can succeed: everyone who waits is sent away with the error. */
function failFatally(step: Step, key: KeyState, hold: Hold, error: string): string | undefined {
  const failure: Outcome = {
    moment: step.moment,
    success: false,
    code: 'OPERATION_FAILED',
    error,
    nodeId: hold.nodeId,
    token: hold.token,
    atMs: step.nowMs,
  };
  const dismissed = dismissQueue(step, step.put({ ...key, hold: undefined, failure }), failure);
  const event = emitEnd(step, 'failed', key.type, hold);
  event.error = error;
  event.dismissed = dismissed;
  return serve(step, key.type);
}

/** The hold is gone and the work is not done: the next in line takes over. */
export function failHold(
  step: Step,
  key: KeyState,
  hold: Hold,
  name: 'released' | 'expired',
  error: string,
): string | undefined {
  step.putKey({ ...key, hold: undefined });
  const event = emitEnd(step, name, key.type, hold);
  event.error = error;
  event.observersOnly = true;
  return serve(step, key.type);
}

function emitEnd(step: Step, name: EventName, type: string, run: Hold): ReturnType<Step['emit']> {
  const event = step.emit(name, type, run);
  event.token = run.token;
  event.sinceMs = run.acquiredAtMs;
  return event;
}
