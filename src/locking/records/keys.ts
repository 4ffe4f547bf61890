import { type KeyState, type Lane, NO_DISMISSALS, NO_LANES } from '../../core/state.js';
import {
  readHold,
  readLastRelease,
  readOutcome,
  type StoredDismissal,
  type StoredHold,
  type StoredLastRelease,
  type StoredOutcome,
  type StoredWaiter,
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
import { type JsonWriter } from './json-writer.js';
import { writeHold, writeLastRelease, writeOutcome } from './write-entries.js';

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

export function writeKey(out: JsonWriter, key: KeyState, sink: PartSink): void {
  const { hold, lanes, success, failure, dismissals, lastRelease } = key;
  out.openObject();
  out.field('t');
  out.string(key.type);
  if (hold) {
    out.field('h');
    writeHold(out, hold);
  }
  if (lanes.length > 0) {
    out.field('l');
    out.openList();
    for (const lane of lanes) writeLane(out, lane, sink);
    out.closeList();
  }
  if (success) {
    out.field('s');
    writeOutcome(out, success);
  }
  if (failure) {
    out.field('f');
    writeOutcome(out, failure);
  }
  if (dismissals.size > 0) {
    out.field('d');
    writeList(out, DISMISSALS, dismissals, sink);
  }
  if (lastRelease) {
    out.field('x');
    writeLastRelease(out, lastRelease);
  }
  out.closeObject();
}

function writeLane(out: JsonWriter, { name, waiters }: Lane, sink: PartSink): void {
  out.openList();
  out.string(name);
  writeList(out, WAITERS, waiters, sink);
  out.closeList();
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
