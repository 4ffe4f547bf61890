import { type ResourceState } from '../../core/state.js';

/** Of a key, its names, numbers and punctuation: two dozen numbers of sixteen digits at the most. */
const MOST_UNITS_OF_KEY = 768;

/** Format, id of the commit, and the names of the rest. */
const MOST_UNITS_AROUND_KEYS = 256;

/** JSON takes at most six for one. */
const MOST_UNITS_PER_UNIT = 6;

/** A list is in chunks, which may be parts: whether they are is known from the writing. */
export function hasLists({ keys, references }: ResourceState): boolean {
  return references.size > 0 || keys.some(({ lanes, dismissals }) => lanes.length > 0 || dismissals.size > 0);
}

/** As many units as the head of a state without lists takes at the most. */
export function mostUnits({ keys }: ResourceState): number {
  let units = 0;
  let texts = 0;
  for (const { type, hold, success, failure, lastRelease } of keys) {
    units += MOST_UNITS_OF_KEY;
    texts += type.length;
    if (hold)
      texts += textsOf(hold) + lengthOf(hold.subtype) + lengthOf(hold.boundAt) + lengthOf(hold.polledAt);
    if (success) texts += textsOf(success) + success.error.length;
    if (failure) texts += textsOf(failure) + failure.error.length;
    if (lastRelease)
      texts += textsOf(lastRelease) + lastRelease.error.length + lengthOf(lastRelease.nextHolder);
  }
  return MOST_UNITS_AROUND_KEYS + units + texts * MOST_UNITS_PER_UNIT;
}

function textsOf({
  nodeId,
  sessionId,
}: {
  readonly nodeId: string;
  readonly sessionId?: string | undefined;
}): number {
  return nodeId.length + lengthOf(sessionId);
}

function lengthOf(text: string | undefined): number {
  return text === undefined ? 0 : text.length;
}
