import { type LockEvent } from '../../core/events.js';
import { EMPTY_STATE, forEachChunk, type ResourceState } from '../../core/state.js';
import { type Text } from '../../stores/state-store.interface.js';
import { StoreError } from '../../stores/store.error.js';
import { readEvent, type StoredEvent, type StoredReference } from './entries.js';
import { EVENTS_PART, keyPart } from './item-keys.js';
import { readKey, type StoredKey } from './keys.js';
import { isOwnItem, type PartSource, readList, REFERENCES, type StoredList } from './lists.js';

/** Raised with every change of what is written. A record of another version is refused, never overwritten. */
export const FORMAT_VERSION = 1;

/** A resource as it is in the store: one head item and, when it is large, parts beside it. */
export interface StoredRecord {
  readonly state: ResourceState;
  /** The head; empty when there is none. */
  readonly head: Text;
  /** Of the head; 0 when there is none. */
  readonly revision: number;
  /** Parts other than chunks; written anew with every commit, so that their revision is the head's. */
  readonly spilled: readonly string[];
}

const NO_PARTS: readonly string[] = [];

export const NO_RECORD: StoredRecord = { state: EMPTY_STATE, head: '', revision: 0, spilled: NO_PARTS };

/**
 * Stands last in a head, followed by the events or `null`: whoever only wants the state need not parse them. Events are
 * arrays of strings and numbers, in which this cannot occur.
 */
const EVENTS_FIELD = ',"e":';

function eventsText(head: string): string {
  return head.slice(head.lastIndexOf(EVENTS_FIELD) + EVENTS_FIELD.length, -1);
}

/** Stands first in every head of this version; what follows it, up to the next quote, is the id of the commit. */
const BEFORE_COMMIT_ID = `{"v":${FORMAT_VERSION},"c":"`;

/** Of the commit that wrote it, without parsing it; of another version's, anything. */
export function commitIdOf(head: string): string {
  return head.slice(BEFORE_COMMIT_ID.length, head.indexOf('"', BEFORE_COMMIT_ID.length));
}

interface StoredHead {
  readonly v: number;
  /** Id of the commit, by which a writer whose answer was lost recognises its own. */
  readonly c: string;
  readonly n: number;
  /** A type alone: the key is a part. */
  readonly k: (StoredKey | string)[];
  readonly r: StoredList<StoredReference>;
  /** Parts and their revisions; 0 = this commit. */
  readonly p?: Record<string, number>;
}

/** Those that are not chunks. */
export function spilledOf(parts: ReadonlyMap<string, unknown>): readonly string[] {
  return parts.size === 0 ? NO_PARTS : [...parts.keys()].filter((part) => !part.startsWith('c'));
}

/** A head that was read, before its parts are at hand. */
export interface DecodedHead {
  readonly commitId: string;
  readonly revision: number;
  /** Each part it needs, with the revision that the part must have. */
  readonly parts: ReadonlyMap<string, number>;
  events(textOf: (part: string) => string): LockEvent[];
  record(source: PartSource): StoredRecord;
}

export function decodeHead(resourceId: string, text: string, revision: number): DecodedHead {
  const head = parseHead(resourceId, text);
  const parts = head.p ? partsOf(head.p, revision) : NO_PART_REVISIONS;
  return {
    commitId: head.c,
    revision,
    parts,
    events: (textOf) => {
      const own = JSON.parse(eventsText(text)) as StoredEvent[] | null;
      const stored = own ?? (JSON.parse(textOf(EVENTS_PART)) as StoredEvent[]);
      return stored.map((event) => readEvent(event, revision));
    },
    record: (source) => ({
      state: readState(head, revision, source),
      head: text,
      revision,
      spilled: spilledOf(parts),
    }),
  };
}

/** Whether all of the record is in its head, so that the head's text alone can stand for it. */
export function isWholeInHead({ state, spilled }: StoredRecord): boolean {
  let whole = spilled.length === 0;
  forEachChunk(state, (chunk) => (whole &&= !isOwnItem(chunk)));
  return whole;
}

/** The record again of which the head is the whole. */
export function recordOfHead(resourceId: string, text: string, revision: number): StoredRecord {
  return decodeHead(resourceId, text, revision).record(noParts);
}

export function noParts(): never {
  throw new TypeError('a head without parts asks for none');
}

export const NO_PART_REVISIONS: ReadonlyMap<string, number> = new Map();

function partsOf(stored: Readonly<Record<string, number>>, revision: number): ReadonlyMap<string, number> {
  return new Map(Object.entries(stored).map(([part, at]) => [part, at === 0 ? revision : at]));
}

function readState(head: StoredHead, revision: number, source: PartSource): ResourceState {
  const keys = head.k.map((entry) => {
    if (typeof entry !== 'string') return readKey(entry, revision, source);
    const part = source(keyPart(entry), 0);
    if (!('text' in part)) throw new TypeError('a key is always read from its text');
    return readKey(JSON.parse(part.text) as StoredKey, revision, source);
  });
  return {
    keys,
    references: readList(REFERENCES, head.r, revision, source),
    nextChunkId: head.n,
    pendingEvents: 0,
  };
}

function parseHead(resourceId: string, text: string): StoredHead {
  let head: StoredHead | null;
  try {
    const end = text.lastIndexOf(EVENTS_FIELD);
    head = JSON.parse(end < 0 ? text : `${text.slice(0, end)}}`) as StoredHead | null;
  } catch (cause) {
    throw unreadable(resourceId, 'is damaged', cause);
  }
  if (head?.v !== FORMAT_VERSION) {
    throw unreadable(resourceId, `has format ${head?.v}; this version of Holdfast reads ${FORMAT_VERSION}`);
  }
  return head;
}

function unreadable(resourceId: string, what: string, cause?: unknown): StoreError {
  return new StoreError(
    'STORE_UNREADABLE',
    'read',
    `the stored state of resource ${resourceId} ${what}`,
    cause,
  );
}
