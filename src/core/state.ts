import { type Asker, type Chunk, ChunkedList, type EntryShape } from './chunked-list.js';
import { type Moment, settleMoment, settleRevision, THIS_COMMIT } from './moment.js';
import { jsonBytes } from './text.js';

/** Everything known of one resource. Immutable; one compare-and-set covers all of it. */
export interface ResourceState {
  /** One per type that has a hold, a waiter or something remembered. */
  readonly keys: readonly KeyState[];
  /** In the order in which the nodes came. */
  readonly references: ChunkedList<Reference>;
  readonly nextChunkId: number;
  /** Events in the commit being built so far: numbers the next one. 0 in a settled state. */
  readonly pendingEvents: number;
}

/** A key: one type of operation on the resource. */
export interface KeyState {
  readonly type: string;
  readonly hold: Hold | undefined;
  /** Never an empty lane. */
  readonly lanes: readonly Lane[];
  /** The newest success. */
  readonly success: Outcome | undefined;
  /** A fatal failure or refusal newer than `success`. */
  readonly failure: Outcome | undefined;
  /** Oldest first. An asker who holds or waits has none: something newer was said to it. */
  readonly dismissals: ChunkedList<Dismissal>;
  readonly lastRelease: LastRelease | undefined;
}

export interface Hold extends Asker {
  readonly subtype: string | undefined;
  readonly token: number;
  /** Revision of the grant or of the last renewal: what an expiry must name. */
  readonly renewed: number;
  /** 0 = never expires. */
  readonly leaseMs: number;
  readonly requestedAtMs: number;
  readonly acquiredAtMs: number;
  /** Of the wait that this hold was handed to; a hold granted at once has none. */
  readonly ticket: Moment | undefined;
  /** false: handed over and not yet asked for by its new holder. */
  readonly claimed: boolean;
  /** Ends with its holder's event stream: the instance where that was opened last. */
  readonly boundAt: string | undefined;
  /** Of the wait that this hold was handed to. */
  readonly polledAt: string | undefined;
  /** Number of the granting event within its commit: with the token, that event's id. */
  readonly n: number;
}

export interface Lane {
  /** A configured subtype, or empty for requests without one. */
  readonly name: string;
  readonly waiters: ChunkedList<Waiter>;
}

export interface Waiter extends Asker {
  readonly subtype: string | undefined;
  /** The moment of queueing. */
  readonly ticket: Moment;
  /** Revision at which the waiter was last written: what an expiry must name. */
  readonly renewed: number;
  readonly requestedAtMs: number;
  readonly leaseMs: number | undefined;
  /** A pull that looked and did not find the bytes. */
  readonly absent: boolean;
  readonly boundAt: string | undefined;
  /**
   * The instance with its latest long poll, whose closing ends the wait; none, if another instance was asked since without one, or if
   * there is only one, which knows by itself.
   */
  readonly polledAt: string | undefined;
}

export interface Outcome {
  readonly moment: Moment;
  readonly success: boolean;
  /** Of a failure: what a dismissed asker is refused with. */
  readonly code: 'OPERATION_FAILED' | 'RESOURCE_IN_USE' | undefined;
  /** Empty for a success. */
  readonly error: string;
  /** The worker; for a refusal, the head of the queue that was dismissed. */
  readonly nodeId: string;
  /** Of the run; a refusal and a skip by references have no run. */
  readonly token: number | undefined;
  readonly atMs: number;
}

export interface Dismissal extends Asker {
  /** One object shared by all who were dismissed together. */
  readonly outcome: Outcome;
}

export interface LastRelease extends Asker {
  readonly moment: Moment;
  readonly token: number;
  readonly success: boolean;
  readonly error: string;
  readonly fatal: boolean;
  readonly nextHolder: string | undefined;
}

export interface Reference extends Asker {
  readonly sinceMs: number | undefined;
}

/** Punctuation, numbers and flags of a stored entry, at their longest. */
const ENTRY_OVERHEAD_BYTES = 160;

function askerBytes(asker: Asker): number {
  return jsonBytes(asker.nodeId) + (asker.sessionId?.length ?? 0);
}

export const waiterShape: EntryShape<Waiter> = {
  bytes: (waiter) =>
    askerBytes(waiter) +
    (waiter.subtype?.length ?? 0) +
    (waiter.boundAt?.length ?? 0) +
    (waiter.polledAt?.length ?? 0) +
    ENTRY_OVERHEAD_BYTES,
  settle: (waiter, revision) =>
    waiter.renewed === THIS_COMMIT
      ? {
          ...waiter,
          ticket: settleMoment(waiter.ticket, revision),
          renewed: settleRevision(waiter.renewed, revision),
        }
      : waiter,
};

export const dismissalShape: EntryShape<Dismissal> = {
  bytes: (dismissal, previous) =>
    askerBytes(dismissal) +
    (previous?.outcome === dismissal.outcome
      ? 16
      : jsonBytes(dismissal.outcome.error) + jsonBytes(dismissal.outcome.nodeId) + ENTRY_OVERHEAD_BYTES),
  settle: (dismissal, revision, previous) => {
    const outcome =
      previous?.marked.outcome === dismissal.outcome
        ? previous.settled.outcome
        : settleOutcome(dismissal.outcome, revision);
    return outcome === dismissal.outcome ? dismissal : { ...dismissal, outcome };
  },
};

export const referenceShape: EntryShape<Reference> = {
  bytes: (reference) => jsonBytes(reference.nodeId) + 32,
  settle: (reference) => reference,
};

export const NO_LANES: readonly Lane[] = [];
export const NO_WAITERS = ChunkedList.empty(waiterShape);
export const NO_DISMISSALS = ChunkedList.empty(dismissalShape);
export const NO_REFERENCES = ChunkedList.empty(referenceShape);

export const EMPTY_STATE: ResourceState = {
  keys: [],
  references: NO_REFERENCES,
  nextChunkId: 1,
  pendingEvents: 0,
};

export function emptyKey(type: string): KeyState {
  return {
    type,
    hold: undefined,
    lanes: NO_LANES,
    success: undefined,
    failure: undefined,
    dismissals: NO_DISMISSALS,
    lastRelease: undefined,
  };
}

export function keyOf(state: ResourceState, type: string): KeyState | undefined {
  return state.keys.find((key) => key.type === type);
}

export function isIdleKey(key: KeyState): boolean {
  return (
    !key.hold &&
    key.lanes.length === 0 &&
    !key.success &&
    !key.failure &&
    key.dismissals.size === 0 &&
    !key.lastRelease
  );
}

/** Nothing held, awaited, remembered or referenced: the record can go. */
export function isIdle(state: ResourceState): boolean {
  return state.keys.length === 0 && state.references.size === 0;
}

/** Every chunk of every list of the resource. */
export function forEachChunk(state: ResourceState, visit: (chunk: Chunk<Asker>) => void): void {
  state.references.chunks.forEach(visit);
  for (const key of state.keys) {
    key.dismissals.chunks.forEach(visit);
    for (const lane of key.lanes) lane.waiters.chunks.forEach(visit);
  }
}

export function queueLength(key: KeyState): number {
  return key.lanes.reduce((length, lane) => length + lane.waiters.size, 0);
}

export function findWaiter(key: KeyState, asker: Asker): Waiter | undefined {
  for (const lane of key.lanes) {
    const waiter = lane.waiters.find(asker);
    if (waiter) return waiter;
  }
  return undefined;
}

export function settleOutcome(outcome: Outcome, revision: number): Outcome {
  if (outcome.moment.revision !== THIS_COMMIT) return outcome;
  const token = outcome.token === undefined ? undefined : settleRevision(outcome.token, revision);
  return { ...outcome, token, moment: settleMoment(outcome.moment, revision) };
}
