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
import { jsonOf } from '../../core/text.js';

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

export function writeKey(key: KeyState, sink: PartSink): string {
  const { type, hold, lanes, success, failure, dismissals, lastRelease } = key;
  let text = `{"t":${jsonOf(type)}`;
  if (hold) text += `,"h":${writeHold(hold)}`;
  if (lanes.length > 0) text += `,"l":[${lanes.map((lane) => writeLane(lane, sink)).join()}]`;
  if (success) text += `,"s":${writeOutcome(success)}`;
  if (failure) text += `,"f":${writeOutcome(failure)}`;
  if (dismissals.size > 0) text += `,"d":${writeList(DISMISSALS, dismissals, sink)}`;
  if (lastRelease) text += `,"x":${writeLastRelease(lastRelease)}`;
  return `${text}}`;
}

function writeLane({ name, waiters }: Lane, sink: PartSink): string {
  return `[${jsonOf(name)},${writeList(WAITERS, waiters, sink)}]`;
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
