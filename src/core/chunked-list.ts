import { CHUNK_BYTES } from './limits.js';
import { THIS_COMMIT } from './moment.js';

/** Who an entry belongs to; a list holds at most one entry per asker. */
export interface Asker {
  readonly nodeId: string;
  readonly sessionId?: string | undefined;
}

/** What a list must know of its entries. */
export interface EntryShape<T extends Asker> {
  /** Upper bound of the entry's stored size, given the entry stored before it in the same chunk. */
  bytes(entry: T, previous: T | undefined): number;
  /** The entry with every `THIS_COMMIT` mark replaced; what it shares with the one before it stays shared. */
  settle(entry: T, revision: number, previous?: { readonly marked: T; readonly settled: T }): T;
}

export interface Chunk<T extends Asker> {
  /** Unique within the resource, so that a chunk keeps its place in the store whatever list it is in. */
  readonly id: number;
  /** Of the commit that last wrote the chunk. */
  readonly revision: number;
  /** Of everything ever appended: removals do not make room, so a chunk is never refilled. */
  readonly bytes: number;
  readonly entries: readonly T[];
}

export type NewChunkId = () => number;

/**
 * An immutable list in order of arrival, cut into chunks that are stored one by one: a change copies and rewrites only
 * the chunks it touches, never the list. Used for everything that can grow long: waiters, dismissals, references.
 */
export class ChunkedList<T extends Asker> implements Iterable<T> {
  static empty<T extends Asker>(shape: EntryShape<T>): ChunkedList<T> {
    return new ChunkedList(shape, [], 0);
  }

  static of<T extends Asker>(shape: EntryShape<T>, chunks: readonly Chunk<T>[]): ChunkedList<T> {
    return new ChunkedList(
      shape,
      chunks,
      chunks.reduce((size, chunk) => size + chunk.entries.length, 0),
    );
  }

  private constructor(
    private readonly shape: EntryShape<T>,
    readonly chunks: readonly Chunk<T>[],
    readonly size: number,
  ) {}

  get first(): T | undefined {
    return this.chunks[0]?.entries[0];
  }

  find(asker: Asker): T | undefined {
    for (const chunk of this.chunks) {
      const index = this.indexIn(chunk, asker);
      if (index >= 0) return chunk.entries[index];
    }
    return undefined;
  }

  has(asker: Asker): boolean {
    return this.find(asker) !== undefined;
  }

  /** How many entries stand before the asker's. */
  rank(asker: Asker): number {
    let before = 0;
    for (const chunk of this.chunks) {
      const index = this.indexIn(chunk, asker);
      if (index >= 0) return before + index;
      before += chunk.entries.length;
    }
    return before;
  }

  /** The caller knows that the asker is not in the list. */
  append(entry: T, newChunkId: NewChunkId): ChunkedList<T> {
    return this.appendAll([entry], newChunkId);
  }

  appendAll(entries: Iterable<T>, newChunkId: NewChunkId): ChunkedList<T> {
    const chunks = [...this.chunks];
    let size = this.size;
    let open: { id: number; bytes: number; entries: T[] } | undefined;
    const last = chunks.at(-1);
    if (last) {
      chunks.pop();
      open = { id: last.id, bytes: last.bytes, entries: [...last.entries] };
    }
    const close = () => {
      if (!open) return;
      const unchanged = last?.id === open.id && last.entries.length === open.entries.length;
      chunks.push(unchanged ? last : { ...open, revision: THIS_COMMIT });
    };
    for (const entry of entries) {
      const bytes = this.shape.bytes(entry, open?.entries.at(-1));
      if (!open || open.bytes + bytes > CHUNK_BYTES) {
        close();
        open = { id: newChunkId(), bytes: this.shape.bytes(entry, undefined), entries: [entry] };
      } else {
        open.entries.push(entry);
        open.bytes += bytes;
      }
      size++;
    }
    close();
    return size === this.size ? this : new ChunkedList(this.shape, chunks, size);
  }

  remove(asker: Asker): ChunkedList<T> {
    return this.change(asker, () => []);
  }

  /** In place: the order does not change. */
  replace(entry: T): ChunkedList<T> {
    return this.change(entry, () => [entry]);
  }

  /** Without the entries at the front for which this holds. */
  dropWhile(predicate: (entry: T) => boolean): ChunkedList<T> {
    let from = 0;
    while (from < this.chunks.length && this.chunks[from]!.entries.every(predicate)) from++;
    const boundary = this.chunks[from];
    const kept = boundary?.entries.findIndex((entry) => !predicate(entry)) ?? 0;
    if (from === 0 && kept <= 0) return this;
    const rest = this.chunks.slice(from);
    if (boundary && kept > 0) {
      rest[0] = { ...boundary, revision: THIS_COMMIT, entries: boundary.entries.slice(kept) };
    }
    return ChunkedList.of(this.shape, rest);
  }

  /** The very list if all entries stay. */
  filter(predicate: (entry: T) => boolean): ChunkedList<T> {
    const chunks = this.chunks.flatMap((chunk) => {
      const entries = chunk.entries.filter(predicate);
      if (entries.length === chunk.entries.length) return [chunk];
      return entries.length > 0 ? [{ ...chunk, revision: THIS_COMMIT, entries }] : [];
    });
    const list = ChunkedList.of(this.shape, chunks);
    return list.size === this.size ? this : list;
  }

  settle(revision: number): ChunkedList<T> {
    if (this.chunks.every((chunk) => chunk.revision !== THIS_COMMIT)) return this;
    const chunks = this.chunks.map((chunk) => settleChunk(this.shape, chunk, revision));
    return new ChunkedList(this.shape, chunks, this.size);
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const chunk of this.chunks) yield* chunk.entries;
  }

  private change(asker: Asker, substitute: () => T[]): ChunkedList<T> {
    for (const [position, chunk] of this.chunks.entries()) {
      const index = this.indexIn(chunk, asker);
      if (index < 0) continue;
      const entries = chunk.entries.toSpliced(index, 1, ...substitute());
      const changed = entries.length > 0 ? [{ ...chunk, revision: THIS_COMMIT, entries }] : [];
      const size = this.size + entries.length - chunk.entries.length;
      return new ChunkedList(this.shape, this.chunks.toSpliced(position, 1, ...changed), size);
    }
    return this;
  }

  private indexIn(chunk: Chunk<T>, asker: Asker): number {
    if (chunk === this.chunks.at(-1)) return scan(chunk.entries, asker);
    let index = indexes.get(chunk);
    if (!index) {
      index = new Map(chunk.entries.map((entry, position) => [askerKey(entry), position]));
      indexes.set(chunk, index);
    }
    return index.get(askerKey(asker)) ?? -1;
  }
}

/** Gives a chunk written by this commit its revision; another chunk stays as it is. */
function settleChunk<T extends Asker>(shape: EntryShape<T>, chunk: Chunk<T>, revision: number): Chunk<T> {
  if (chunk.revision !== THIS_COMMIT) return chunk;
  let previous: { marked: T; settled: T } | undefined;
  const entries = chunk.entries.map((marked) => {
    const settled = shape.settle(marked, revision, previous);
    previous = { marked, settled };
    return settled;
  });
  return { ...chunk, revision, entries };
}

/** Chunks that are full are searched often and change seldom; the last one changes with every append and is scanned. */
const indexes = new WeakMap<Chunk<Asker>, Map<string, number>>();

function scan(entries: readonly Asker[], asker: Asker): number {
  for (let i = 0; i < entries.length; i++) if (sameAsker(entries[i]!, asker)) return i;
  return -1;
}

export function sameAsker(a: Asker, b: Asker): boolean {
  return a.nodeId === b.nodeId && a.sessionId === b.sessionId;
}

/** Names hold no control characters, so that the separator cannot occur in them. */
export function askerKey(asker: Asker): string {
  return asker.sessionId === undefined ? asker.nodeId : `${asker.nodeId}\u0000${asker.sessionId}`;
}
