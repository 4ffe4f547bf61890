import { type EventName, type LockEvent } from '../../core/events.js';
import { type Moment, settleRevision } from '../../core/moment.js';
import {
  type Dismissal,
  type Hold,
  type LastRelease,
  type Outcome,
  type Reference,
  type Waiter,
} from '../../core/state.js';

/*
 * How the pieces of a record are written: JSON arrays with the fields below, so that a million of them stay small and
 * quick to parse (`write-entries.ts` writes them). A revision of 0 means "the commit that wrote this item" and is read as that commit's revision. The order of the fields may only
 * change together with `FORMAT_VERSION`.
 */

type Maybe<T> = T | null;
type StoredMoment = [revision: number, n: number];

/** 1: bound where there is only one instance, which has no name. */
type StoredBinding = 0 | 1 | string;

function readBinding(stored: StoredBinding): string | undefined {
  return stored === 0 ? undefined : stored === 1 ? '' : stored;
}

export type StoredHold = [
  nodeId: string,
  sessionId: Maybe<string>,
  subtype: Maybe<string>,
  token: number,
  renewed: number,
  leaseMs: number,
  requestedAtMs: number,
  acquiredAtMs: number,
  claimed: 0 | 1,
  boundAt: StoredBinding,
  ticket: Maybe<StoredMoment>,
  n: number,
  polledAt?: string,
];

export function readHold(stored: StoredHold, commit: number): Hold {
  const [nodeId, sessionId, subtype, token, renewed, leaseMs, requestedAtMs, acquiredAtMs] = stored;
  const claimed = stored[8];
  const boundAt = stored[9];
  const ticket = stored[10];
  return {
    nodeId,
    sessionId: sessionId ?? undefined,
    subtype: subtype ?? undefined,
    token: settleRevision(token, commit),
    renewed: settleRevision(renewed, commit),
    leaseMs,
    requestedAtMs,
    acquiredAtMs,
    ticket: ticket ? readMoment(ticket, commit) : undefined,
    claimed: claimed === 1,
    boundAt: readBinding(boundAt),
    polledAt: stored[12],
    n: stored[11],
  };
}

export type StoredWaiter = [
  nodeId: string,
  sessionId: Maybe<string>,
  subtype: Maybe<string>,
  ticket: StoredMoment,
  renewed: number,
  requestedAtMs: number,
  leaseMs: Maybe<number>,
  absent: 0 | 1,
  boundAt: StoredBinding,
  polledAt?: string,
];

export function readWaiter(stored: StoredWaiter, commit: number): Waiter {
  const [nodeId, sessionId, subtype, ticket, renewed, requestedAtMs, leaseMs, absent, boundAt, polledAt] =
    stored;
  return {
    nodeId,
    sessionId: sessionId ?? undefined,
    subtype: subtype ?? undefined,
    ticket: readMoment(ticket, commit),
    renewed: settleRevision(renewed, commit),
    requestedAtMs,
    leaseMs: leaseMs ?? undefined,
    absent: absent === 1,
    boundAt: readBinding(boundAt),
    polledAt,
  };
}

export type StoredOutcome = [
  moment: StoredMoment,
  success: 0 | 1,
  code: Maybe<NonNullable<Outcome['code']>>,
  error: string,
  nodeId: string,
  token: Maybe<number>,
  atMs: number,
];

export function readOutcome(stored: StoredOutcome, commit: number): Outcome {
  const [moment, success, code, error, nodeId, token, atMs] = stored;
  return {
    moment: readMoment(moment, commit),
    success: success === 1,
    code: code ?? undefined,
    error,
    nodeId,
    token: token === null ? undefined : settleRevision(token, commit),
    atMs,
  };
}

/** An outcome is written with the first of those dismissed by it; the others share it. */
export type StoredDismissal = [nodeId: string, sessionId: Maybe<string>, outcome?: StoredOutcome];

export function readDismissals(stored: readonly StoredDismissal[], commit: number): Dismissal[] {
  let shared: Outcome | undefined;
  return stored.map(([nodeId, sessionId, outcome]) => {
    if (outcome) shared = readOutcome(outcome, commit);
    return { nodeId, sessionId: sessionId ?? undefined, outcome: shared! };
  });
}

export type StoredLastRelease = [
  nodeId: string,
  sessionId: Maybe<string>,
  moment: StoredMoment,
  token: number,
  success: 0 | 1,
  error: string,
  fatal: 0 | 1,
  nextHolder: Maybe<string>,
];

export function readLastRelease(stored: StoredLastRelease, commit: number): LastRelease {
  const [nodeId, sessionId, moment, token, success, error, fatal, nextHolder] = stored;
  return {
    nodeId,
    sessionId: sessionId ?? undefined,
    moment: readMoment(moment, commit),
    token: settleRevision(token, commit),
    success: success === 1,
    error,
    fatal: fatal === 1,
    nextHolder: nextHolder ?? undefined,
  };
}

export type StoredReference = [nodeId: string, sinceMs: Maybe<number>];

export function readReference([nodeId, sinceMs]: StoredReference): Reference {
  return { nodeId, sinceMs: sinceMs ?? undefined };
}

export type StoredEvent = [
  name: EventName,
  n: number,
  type: string,
  nodeId: string,
  sessionId: Maybe<string>,
  success: 0 | 1,
  error: string,
  token: Maybe<number>,
  atMs: number,
  dismissed: number,
  referenceCount: Maybe<number>,
  observersOnly: 0 | 1,
  sinceMs: Maybe<number>,
];

/** Of the commit with this revision: a record keeps the events of its last commit only. */
export function readEvent(stored: StoredEvent, revision: number): LockEvent {
  const [name, n, type, nodeId, sessionId, success, error, token, atMs, dismissed] = stored;
  const [referenceCount, observersOnly, sinceMs] = [stored[10], stored[11], stored[12]];
  return {
    name,
    moment: { revision, n },
    type,
    nodeId,
    sessionId: sessionId ?? undefined,
    success: success === 1,
    error,
    token: token === 0 ? revision : (token ?? undefined),
    atMs,
    dismissed,
    referenceCount,
    observersOnly: observersOnly === 1,
    sinceMs: sinceMs ?? undefined,
  };
}

export type StoredChunk<E = unknown> = [id: number, bytes: number, entries: E[]];

function readMoment([revision, n]: StoredMoment, commit: number): Moment {
  return { revision: settleRevision(revision, commit), n };
}
