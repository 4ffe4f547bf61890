import { type Asker, type Chunk, ChunkedList, type EntryShape } from '../../core/chunked-list.js';
import { THIS_COMMIT } from '../../core/moment.js';
import {
  type Dismissal,
  dismissalShape,
  NO_DISMISSALS,
  NO_REFERENCES,
  NO_WAITERS,
  type Reference,
  referenceShape,
  type Waiter,
  waiterShape,
} from '../../core/state.js';
import {
  readDismissals,
  readReference,
  readWaiter,
  type StoredChunk,
  type StoredDismissal,
  type StoredReference,
  type StoredWaiter,
} from './entries.js';
import { chunkPart } from './item-keys.js';
import { type JsonWriter } from './json-writer.js';
import { writeDismissals, writeReference, writeWaiter } from './write-entries.js';

/** How the entries of one kind of list are written. */
interface ListFormat<T extends Asker, E> {
  readonly shape: EntryShape<T>;
  readonly empty: ChunkedList<T>;
  /** One after the other. */
  write(out: JsonWriter, entries: readonly T[]): void;
  /** Entries of the item with this revision. */
  read(stored: E[], revision: number): T[];
}

export const WAITERS: ListFormat<Waiter, StoredWaiter> = {
  shape: waiterShape,
  empty: NO_WAITERS,
  write: (out, entries) => {
    for (const waiter of entries) writeWaiter(out, waiter);
  },
  read: (stored, revision) => stored.map((waiter) => readWaiter(waiter, revision)),
};

export const DISMISSALS: ListFormat<Dismissal, StoredDismissal> = {
  shape: dismissalShape,
  empty: NO_DISMISSALS,
  write: writeDismissals,
  read: readDismissals,
};

export const REFERENCES: ListFormat<Reference, StoredReference> = {
  shape: referenceShape,
  empty: NO_REFERENCES,
  write: (out, entries) => {
    for (const reference of entries) writeReference(out, reference);
  },
  read: (stored) => stored.map(readReference),
};

/** In a head: a short chunk itself, or the id of one that is an item of its own. */
export type StoredList<E> = (StoredChunk<E> | number)[];

/** Short lists travel in the head, so that an ordinary resource is one item. */
const INLINE_CHUNK_BYTES = 2048;

export function isOwnItem(chunk: Chunk<Asker>): boolean {
  return chunk.bytes > INLINE_CHUNK_BYTES;
}

/** Receives the chunks that are items of their own; `text` only for those this commit changes. */
export interface PartSink {
  put(part: string, revision: number, text: string | undefined): void;
}

/** Gives a chunk of this id and revision if it is at hand, or its text. */
export type PartSource = (
  part: string,
  id: number,
) => { chunk: Chunk<Asker> } | { text: string; revision: number };

export function writeList<T extends Asker, E>(
  out: JsonWriter,
  format: ListFormat<T, E>,
  list: ChunkedList<T>,
  sink: PartSink,
): void {
  out.openList();
  for (const chunk of list.chunks) {
    if (!isOwnItem(chunk)) writeChunk(out, format, chunk);
    else {
      const isChanged = chunk.revision === THIS_COMMIT;
      const text = isChanged ? out.aside(() => writeChunk(out, format, chunk)) : undefined;
      sink.put(chunkPart(chunk.id), chunk.revision, text);
      out.number(chunk.id);
    }
  }
  out.closeList();
}

function writeChunk<T extends Asker, E>(
  out: JsonWriter,
  format: ListFormat<T, E>,
  { id, bytes, entries }: Chunk<T>,
): void {
  out.openList();
  out.number(id);
  out.number(bytes);
  out.openList();
  format.write(out, entries);
  out.closeList();
  out.closeList();
}

export function readList<T extends Asker, E>(
  format: ListFormat<T, E>,
  stored: StoredList<E>,
  revision: number,
  source: PartSource,
): ChunkedList<T> {
  if (stored.length === 0) return format.empty;
  const chunks = stored.map((entry) => {
    if (typeof entry !== 'number') return readChunk(format, entry, revision);
    const part = source(chunkPart(entry), entry);
    if ('chunk' in part) return part.chunk as Chunk<T>;
    return readChunk(format, JSON.parse(part.text) as StoredChunk<E>, part.revision);
  });
  return ChunkedList.of(format.shape, chunks);
}

function readChunk<T extends Asker, E>(
  format: ListFormat<T, E>,
  [id, bytes, entries]: StoredChunk<E>,
  revision: number,
): Chunk<T> {
  return { id, bytes, revision, entries: format.read(entries, revision) };
}
