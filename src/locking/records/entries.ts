import { type Asker } from '../../core/chunked-list.js';
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
import { type JsonWriter } from './json-writer.js';

/*
 * How the pieces of a record are written: JSON arrays with the fields below, so that a million of them stay small and
 * quick to parse. They are written at once: that takes a sixth of the time of making arrays of them first, and every commit
 * does it. A revision of 0 means "the commit that wrote this item" and is read as that commit's revision. The order of the fields may only
 * change together with `FORMAT_VERSION`.
 */

type Maybe<T> = T | null;
type StoredMoment = [revision: number, n: number];

/** 1: bound where there is only one instance, which has no name. */
type StoredBinding = 0 | 1 | string;

function writeBinding(out: JsonWriter, boundAt: string | undefined): void {
  if (boundAt === undefined || boundAt === '') out.bit(boundAt === '');
  else out.string(boundAt);
}

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

export function writeHold(out: JsonWriter, hold: Hold): void {
  out.openList();
  writeAsker(out, hold);
  writeText(out, hold.subtype);
  out.number(hold.token);
  out.number(hold.renewed);
  out.number(hold.leaseMs);
  out.number(hold.requestedAtMs);
  out.number(hold.acquiredAtMs);
  out.bit(hold.claimed);
  writeBinding(out, hold.boundAt);
  if (hold.ticket) writeMoment(out, hold.ticket);
  else out.null();
  out.number(hold.n);
  writeLast(out, hold.polledAt);
  out.closeList();
}

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

export function writeWaiter(out: JsonWriter, waiter: Waiter): void {
  out.openList();
  writeAsker(out, waiter);
  writeText(out, waiter.subtype);
  writeMoment(out, waiter.ticket);
  out.number(waiter.renewed);
  out.number(waiter.requestedAtMs);
  writeNumber(out, waiter.leaseMs);
  out.bit(waiter.absent);
  writeBinding(out, waiter.boundAt);
  writeLast(out, waiter.polledAt);
  out.closeList();
}

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

export function writeOutcome(out: JsonWriter, outcome: Outcome): void {
  out.openList();
  writeMoment(out, outcome.moment);
  out.bit(outcome.success);
  writeText(out, outcome.code);
  out.string(outcome.error);
  out.string(outcome.nodeId);
  writeNumber(out, outcome.token);
  out.number(outcome.atMs);
  out.closeList();
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

export function writeDismissals(out: JsonWriter, dismissals: readonly Dismissal[]): void {
  dismissals.forEach((dismissal, i) => {
    out.openList();
    writeAsker(out, dismissal);
    if (i === 0 || dismissals[i - 1]!.outcome !== dismissal.outcome) writeOutcome(out, dismissal.outcome);
    out.closeList();
  });
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

export function writeLastRelease(out: JsonWriter, last: LastRelease): void {
  out.openList();
  writeAsker(out, last);
  writeMoment(out, last.moment);
  out.number(last.token);
  out.bit(last.success);
  out.string(last.error);
  out.bit(last.fatal);
  writeText(out, last.nextHolder);
  out.closeList();
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

export function writeReference(out: JsonWriter, { nodeId, sinceMs }: Reference): void {
  out.openList();
  out.string(nodeId);
  writeNumber(out, sinceMs);
  out.closeList();
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

export function writeEvent(out: JsonWriter, event: LockEvent): void {
  out.openList();
  out.string(event.name);
  out.number(event.moment.n);
  out.string(event.type);
  writeAsker(out, event);
  out.bit(event.success);
  out.string(event.error);
  writeNumber(out, event.token);
  out.number(event.atMs);
  out.number(event.dismissed);
  writeNumber(out, event.referenceCount ?? undefined);
  out.bit(event.observersOnly);
  writeNumber(out, event.sinceMs);
  out.closeList();
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

function writeMoment(out: JsonWriter, { revision, n }: Moment): void {
  out.openList();
  out.number(revision);
  out.number(n);
  out.closeList();
}

function writeAsker(out: JsonWriter, { nodeId, sessionId }: Asker): void {
  out.string(nodeId);
  writeText(out, sessionId);
}

function writeText(out: JsonWriter, value: string | undefined): void {
  if (value === undefined) out.null();
  else out.string(value);
}

function writeNumber(out: JsonWriter, value: number | undefined): void {
  if (value === undefined) out.null();
  else out.number(value);
}

/** A last field that is left out where there is nothing to say: most have none, and older versions do not look for it. */
function writeLast(out: JsonWriter, value: string | undefined): void {
  if (value !== undefined) out.string(value);
}

function readMoment([revision, n]: StoredMoment, commit: number): Moment {
  return { revision: settleRevision(revision, commit), n };
}
