import { type KeyState, NO_DISMISSALS, NO_LANES } from '../../core/state.js';
import {
  readHold,
  readLastRelease,
  readOutcome,
  type StoredDismissal,
  type StoredHold,
  type StoredLastRelease,
  type StoredOutcome,
  type StoredWaiter,
  writeHold,
  writeLastRelease,
  writeOutcome,
} from './entries.js';
import {
  DISMISSALS,
  type PartSink,
  type PartSource,
  readList,
  type StoredList,
  WAITERS,
  writeList,
} from './lists.js';

/** What is not there is not written. */
export interface StoredKey {
  readonly t: string;
  readonly h?: StoredHold;
  readonly l?: [lane: string, waiters: StoredList<StoredWaiter>][];
  readonly s?: StoredOutcome;
  readonly f?: StoredOutcome;
  readonly d?: StoredList<StoredDismissal>;
  readonly x?: StoredLastRelease;
}

export function writeKey(key: KeyState, sink: PartSink): StoredKey {
  return {
    t: key.type,
    ...(key.hold && { h: writeHold(key.hold) }),
    ...(key.lanes.length > 0 && {
      l: key.lanes.map((lane) => [lane.name, writeList(WAITERS, lane.waiters, sink)]),
    }),
    ...(key.success && { s: writeOutcome(key.success) }),
    ...(key.failure && { f: writeOutcome(key.failure) }),
    ...(key.dismissals.size > 0 && { d: writeList(DISMISSALS, key.dismissals, sink) }),
    ...(key.lastRelease && { x: writeLastRelease(key.lastRelease) }),
  };
}

export function readKey(stored: StoredKey, revision: number, source: PartSource): KeyState {
  return {
    type: stored.t,
    hold: stored.h && readHold(stored.h, revision),
    lanes: stored.l
      ? stored.l.map(([name, list]) => ({ name, waiters: readList(WAITERS, list, revision, source) }))
      : NO_LANES,
    success: stored.s && readOutcome(stored.s, revision),
    failure: stored.f && readOutcome(stored.f, revision),
    dismissals: stored.d ? readList(DISMISSALS, stored.d, revision, source) : NO_DISMISSALS,
    lastRelease: stored.x && readLastRelease(stored.x, revision),
  };
}
