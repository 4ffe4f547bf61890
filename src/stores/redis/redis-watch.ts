import { decodeExact } from '../exact-utf8.js';
import { Silence } from '../silence.js';
import { type Change, type Cursor, type WatchObserver } from '../state-store.interface.js';
import { type PartitionKeys } from './redis-keys.js';

const PUT = '+'.charCodeAt(0);

export type FeedEntry = [id: Buffer, fields: Buffer[]];

/**
 * What one observer has been shown of the feed of a partition. Each entry names the revision before it. One that does not continue
 * what was shown means that entries were cut off, or that the engine lost some that were shown: both are `compacted`.
 */
export class RedisWatch {
  over = false;
  private readonly silence: Silence;

  constructor(
    readonly keys: PartitionKeys,
    private cursor: Cursor,
    private readonly observer: WatchObserver,
  ) {
    this.silence = new Silence(observer);
  }

  /** Of the last entry that was shown. */
  get lastId(): string {
    return `${this.cursor}-0`;
  }

  interrupted(cause: unknown): void {
    if (!this.over) this.silence.begin(cause);
  }

  /** Every entry behind the last one has been shown. */
  caughtUp(): void {
    if (!this.over) this.silence.end();
  }

  /** A partition whose last commit is before what was shown has lost some. */
  connected(lastRevision: number): void {
    if (lastRevision < this.cursor) this.compacted();
  }

  show(entries: readonly FeedEntry[]): void {
    for (const [id, [, previous, ...writes]] of entries) {
      if (this.over) return;
      if (Number(previous!.toString('latin1')) !== this.cursor) return this.compacted();
      this.cursor = Number.parseInt(id.toString('latin1'), 10);
      this.observer.committed(changesOf(this.cursor, writes));
    }
  }

  private compacted(): void {
    if (this.over) return;
    this.over = true;
    this.observer.compacted();
  }
}

/** Pairs of key and `+<value>` or `-`. */
function changesOf(revision: number, writes: readonly Buffer[]): Change[] {
  const changes: Change[] = [];
  for (let at = 0; at < writes.length; at += 2) {
    const key = writes[at]!;
    const change = writes[at + 1]!;
    const value = change[0] === PUT ? decodeExact(change, 1, change.length) : undefined;
    changes.push({ key: decodeExact(key, 0, key.length), revision, value });
  }
  return changes;
}
