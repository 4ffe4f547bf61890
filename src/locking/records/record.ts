import { type LockEvent } from '../../core/events.js';
import { EMPTY_STATE, forEachChunk, isIdle, type ResourceState } from '../../core/state.js';
import { MAX_VALUE_BYTES, type Write } from '../../stores/state-store.interface.js';
import { StoreError } from '../../stores/store.error.js';
import { readEvent, type StoredEvent, writeEvent } from './entries.js';
import { chunkPart, EVENTS_PART, headKey, keyPart, partKey } from './item-keys.js';
import { readKey, type StoredKey, writeKey } from './keys.js';
import { JsonWriter } from './json-writer.js';
import {
  isOwnItem,
  type PartSink,
  type PartSource,
  readList,
  REFERENCES,
  type StoredList,
  writeList,
} from './lists.js';
import { type StoredReference } from './entries.js';

/** Raised with every change of what is written. A record of another version is refused, never overwritten. */
const FORMAT_VERSION = 1;

/** A head leaves room under what a store must take; beyond it the keys become items of their own. */
const MAX_HEAD_BYTES = MAX_VALUE_BYTES - 16 * 1024;

/** The events of a large combined commit would crowd the head. */
const INLINE_EVENTS_BYTES = 8 * 1024;

/** A resource as it is in the store: one head item and, when it is large, parts beside it. */
export interface StoredRecord {
  readonly state: ResourceState;
  /** Text of the head; empty when there is none. */
  readonly head: string;
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

export interface EncodedRecord {
  readonly writes: readonly Write[];
  /** Of the head, by which the change feed's copy is recognised; `undefined`: the record is deleted. */
  readonly head: string | undefined;
  readonly spilled: readonly string[];
}

/** Of the next record: its parts, with the text of those that the commit writes. Most records have none. */
class Parts implements PartSink {
  private byName: Map<string, Part> | undefined;

  put(part: string, revision: number, text: string | undefined): void {
    (this.byName ??= new Map()).set(part, { revision, text });
  }

  get all(): ReadonlyMap<string, Part> {
    return this.byName ?? NO_TEXTS;
  }
}

interface Part {
  readonly revision: number;
  readonly text: string | undefined;
}

const NO_TEXTS: ReadonlyMap<string, Part> = new Map();

/** The writes that turn the stored record into the next state. Every commit writes the head: it guards all parts. */
export function encodeRecord(
  resourceId: string,
  base: StoredRecord,
  next: ResourceState,
  events: readonly LockEvent[],
  commitId: string,
): EncodedRecord {
  const sink = new Parts();
  const gone = isIdle(next) && events.length === 0;
  const head = gone ? undefined : encodeHead(next, events, commitId, sink);
  const parts = sink.all;
  const writes: Write[] = [];
  const headWrite = write(headKey(resourceId), base.revision, head);
  if (headWrite) writes.push(headWrite);
  const before = isWholeInHead(base) ? NO_PART_REVISIONS : partRevisions(base);
  for (const [part, { text }] of parts) {
    const put =
      text === undefined ? undefined : write(partKey(resourceId, part), before.get(part) ?? 0, text);
    if (put) writes.push(put);
  }
  for (const [part, revision] of before) {
    if (!parts.has(part)) writes.push({ key: partKey(resourceId, part), expect: revision, delete: true });
  }
  return { writes, head, spilled: spilledOf(parts) };
}

function spilledOf(parts: ReadonlyMap<string, unknown>): readonly string[] {
  return parts.size === 0 ? NO_PARTS : [...parts.keys()].filter((part) => !part.startsWith('c'));
}

function write(key: string, revision: number, text: string | undefined): Write | undefined {
  if (text !== undefined) return { key, expect: revision === 0 ? 'absent' : revision, put: text };
  return revision === 0 ? undefined : { key, expect: revision, delete: true };
}

/** For one head at a time. */
const out = new JsonWriter();

/** First as if all were short enough for the head, which nearly always it is. */
function encodeHead(
  state: ResourceState,
  events: readonly LockEvent[],
  commitId: string,
  parts: Parts,
): string {
  const eventsAt = writeHead(state, events, commitId, parts, { events: false, keys: false });
  const isCrowded = out.length - eventsAt > INLINE_EVENTS_BYTES;
  if (isCrowded) writeHead(state, events, commitId, parts, { events: true, keys: false });
  if (out.length > MAX_HEAD_BYTES)
    writeHead(state, events, commitId, parts, { events: events.length > 0, keys: true });
  return out.end();
}

/** What of a record is in parts. */
interface Spilling {
  readonly events: boolean;
  readonly keys: boolean;
}

/** Where the events begin. */
function writeHead(
  state: ResourceState,
  events: readonly LockEvent[],
  commitId: string,
  parts: Parts,
  spilling: Spilling,
): number {
  out.begin();
  out.openObject();
  out.field('v');
  out.number(FORMAT_VERSION);
  out.field('c');
  out.string(commitId);
  out.field('n');
  out.number(state.nextChunkId);
  out.field('k');
  out.openList();
  for (const key of state.keys) {
    if (spilling.keys) {
      parts.put(
        keyPart(key.type),
        0,
        out.aside(() => writeKey(out, key, parts)),
      );
      out.string(key.type);
    } else writeKey(out, key, parts);
  }
  out.closeList();
  out.field('r');
  writeList(out, REFERENCES, state.references, parts);
  if (spilling.events)
    parts.put(
      EVENTS_PART,
      0,
      out.aside(() => writeEvents(events)),
    );
  if (parts.all.size > 0) writeRevisions(parts.all);
  const eventsAt = out.length;
  out.field('e');
  if (spilling.events) out.null();
  else writeEvents(events);
  out.closeObject();
  return eventsAt;
}

function writeEvents(events: readonly LockEvent[]): void {
  out.openList();
  for (const event of events) writeEvent(out, event);
  out.closeList();
}

function writeRevisions(parts: ReadonlyMap<string, Part>): void {
  out.field('p');
  out.openObject();
  for (const [part, { revision }] of parts) {
    out.field(part);
    out.number(revision);
  }
  out.closeObject();
}

/** The parts a stored record has now, each with the revision its next write must expect. */
function partRevisions({ state, revision, spilled }: StoredRecord): Map<string, number> {
  const revisions = new Map<string, number>();
  for (const part of spilled) revisions.set(part, revision);
  forEachChunk(state, (chunk) => {
    if (isOwnItem(chunk)) revisions.set(chunkPart(chunk.id), chunk.revision);
  });
  return revisions;
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

const NO_PART_REVISIONS: ReadonlyMap<string, number> = new Map();

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
