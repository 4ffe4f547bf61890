import { type LockEvent } from '../../core/events.js';
import { forEachChunk, isIdle, type ResourceState } from '../../core/state.js';
import { MAX_VALUE_BYTES, type Text, type Write } from '../../stores/state-store.interface.js';
import { chunkPart, EVENTS_PART, headKey, keyPart, partKey } from './item-keys.js';
import { hasLists, mostUnits } from './head-units.js';
import { JsonWriter } from './json-writer.js';
import { writeKey } from './keys.js';
import { LaterText } from './later-text.js';
import { isOwnItem, type PartSink, REFERENCES, writeList } from './lists.js';
import { FORMAT_VERSION, isWholeInHead, NO_PART_REVISIONS, spilledOf, type StoredRecord } from './record.js';
import { writeEvent } from './write-entries.js';

/** A head leaves room under what a store must take; beyond it the keys become items of their own. */
const MAX_HEAD_BYTES = MAX_VALUE_BYTES - 16 * 1024;

/** A head of so few units is under that for certain. */
const SHORT_UNITS = MAX_HEAD_BYTES / 3;

/** The events of a large combined commit would crowd the head. */
const INLINE_EVENTS_BYTES = 8 * 1024;

export interface EncodedRecord {
  readonly writes: readonly Write[];
  /** By which the change feed's copy is recognised; `undefined`: the record is deleted. */
  readonly head: Text | undefined;
  readonly spilled: readonly string[];
}

/** What a commit writes beside the state. */
export interface CommitNotes {
  readonly commitId: string;
  /** What it leads to. */
  readonly events: readonly LockEvent[];
  /** Other processes learn of the events from the record. They are half of it, and every commit writes it. */
  readonly othersRead: boolean;
  /** The mark of the write of the head. */
  readonly by?: object | undefined;
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
  { commitId, events, othersRead, by }: CommitNotes,
): EncodedRecord {
  const sink = new Parts();
  const gone = isIdle(next) && events.length === 0;
  const head = gone ? undefined : headOf(next, othersRead ? events : NO_EVENTS, commitId, sink);
  const parts = sink.all;
  const writes: Write[] = [];
  const headWrite = write(headKey(resourceId), base.revision, head, by);
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

const NO_EVENTS: readonly LockEvent[] = [];

function write(key: string, revision: number, text: Text | undefined, by?: object): Write | undefined {
  if (text !== undefined) return { key, expect: revision === 0 ? 'absent' : revision, put: text, by };
  return revision === 0 ? undefined : { key, expect: revision, delete: true, by };
}

/** A short head without lists and events is put into words when somebody wants it: a store in memory hardly ever does. */
function headOf(state: ResourceState, events: readonly LockEvent[], commitId: string, parts: Parts): Text {
  const units = events.length > 0 || hasLists(state) ? Infinity : mostUnits(state);
  return units > SHORT_UNITS
    ? encodeHead(state, events, commitId, parts)
    : new LaterText(units, () => encodeHead(state, events, commitId, parts));
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
