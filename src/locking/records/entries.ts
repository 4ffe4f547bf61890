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
 * quick to parse. A revision of 0 means "the commit that wrote this item" and is read as that commit's revision. The order of the fields may only
 * change together with `FORMAT_VERSION`.
 */

type Maybe<T> = T | null;
type StoredMoment = [revision: number, n: number];

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
  bound: 0 | 1,
  ticket: Maybe<StoredMoment>,
  n: number,
];

export function writeHold(hold: Hold): StoredHold {
  return [
    hold.nodeId,
    hold.sessionId ?? null,
    hold.subtype ?? null,
    hold.token,
    hold.renewed,
    hold.leaseMs,
    hold.requestedAtMs,
    hold.acquiredAtMs,
    hold.claimed ? 1 : 0,
    hold.bound ? 1 : 0,
    hold.ticket ? writeMoment(hold.ticket) : null,
    hold.n,
  ];
}

export function readHold(stored: StoredHold, commit: number): Hold {
  const [nodeId, sessionId, subtype, token, renewed, leaseMs, requestedAtMs, acquiredAtMs] = stored;
  const claimed = stored[8];
  const bound = stored[9];
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
    bound: bound === 1,
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
  bound: 0 | 1,
];

export function writeWaiter(waiter: Waiter): StoredWaiter {
  return [
    waiter.nodeId,
    waiter.sessionId ?? null,
    waiter.subtype ?? null,
    writeMoment(waiter.ticket),
    waiter.renewed,
    waiter.requestedAtMs,
    waiter.leaseMs ?? null,
    waiter.absent ? 1 : 0,
    waiter.bound ? 1 : 0,
  ];
}

export function readWaiter(stored: StoredWaiter, commit: number): Waiter {
  const [nodeId, sessionId, subtype, ticket, renewed, requestedAtMs, leaseMs, absent, bound] = stored;
  return {
    nodeId,
    sessionId: sessionId ?? undefined,
    subtype: subtype ?? undefined,
    ticket: readMoment(ticket, commit),
    renewed: settleRevision(renewed, commit),
    requestedAtMs,
    leaseMs: leaseMs ?? undefined,
    absent: absent === 1,
    bound: bound === 1,
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

export function writeOutcome(outcome: Outcome): StoredOutcome {
  return [
    writeMoment(outcome.moment),
    outcome.success ? 1 : 0,
    outcome.code ?? null,
    outcome.error,
    outcome.nodeId,
    outcome.token ?? null,
    outcome.atMs,
  ];
}

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

export function writeDismissals(dismissals: readonly Dismissal[]): StoredDismissal[] {
  return dismissals.map(({ nodeId, sessionId, outcome }, i) =>
    i > 0 && dismissals[i - 1]!.outcome === outcome
      ? [nodeId, sessionId ?? null]
      : [nodeId, sessionId ?? null, writeOutcome(outcome)],
  );
}

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

export function writeLastRelease(last: LastRelease): StoredLastRelease {
  return [
    last.nodeId,
    last.sessionId ?? null,
    writeMoment(last.moment),
    last.token,
    last.success ? 1 : 0,
    last.error,
    last.fatal ? 1 : 0,
    last.nextHolder ?? null,
  ];
}

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

export function writeReference(reference: Reference): StoredReference {
  return [reference.nodeId, reference.sinceMs ?? null];
}

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

export function writeEvent(event: LockEvent): StoredEvent {
  return [
    event.name,
    event.moment.n,
    event.type,
    event.nodeId,
    event.sessionId ?? null,
    event.success ? 1 : 0,
    event.error,
    event.token ?? null,
    event.atMs,
    event.dismissed,
    event.referenceCount,
    event.observersOnly ? 1 : 0,
    event.sinceMs ?? null,
  ];
}

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

function writeMoment(moment: Moment): StoredMoment {
  return [moment.revision, moment.n];
}

function readMoment([revision, n]: StoredMoment, commit: number): Moment {
  return { revision: settleRevision(revision, commit), n };
}
