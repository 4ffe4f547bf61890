import { decodeExact } from '../exact-utf8.js';
import { Silence } from '../silence.js';
import { type Change, type Cursor, type WatchObserver } from '../state-store.interface.js';
import { type OwnEntry } from './partition-commits.js';
import { type PartitionKeys } from './redis-keys.js';
import { type RedisPartition } from './redis-partition.js';

const PUT = '+'.charCodeAt(0);

export type FeedEntry = [id: Buffer, fields: Buffer[]];

/**
 * What one observer has been shown of the feed of a partition. Each entry names the revision before it. One that is read and does not
 * continue what was shown means that entries were cut off, or that the engine lost some that were shown: both are `compacted`.
 */
export class RedisWatch {
  over = false;
  /** Of the last entry that this process has made. */
  private own: Cursor = 0;
  private readonly silence: Silence;

  constructor(
    private readonly partition: RedisPartition,
    private cursor: Cursor,
    private readonly observer: WatchObserver,
  ) {
    this.silence = new Silence(observer);
  }

  get keys(): PartitionKeys {
    return this.partition.keys;
  }

  /** Everything up to this revision was. */
  get shown(): Cursor {
    return this.cursor;
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

  /** A partition whose last commit is before what had been shown when it was asked for has lost some. */
  connected(lastRevision: number, shown: Cursor): void {
    if (lastRevision < shown) this.compacted();
  }

  show(entries: readonly FeedEntry[]): void {
    for (const [id, [, previous, ...writes]] of entries) {
      if (this.over) return;
      const revision = Number.parseInt(id.toString('latin1'), 10);
      if (revision <= this.cursor) continue;
      this.partition.newest = Math.max(this.partition.newest, revision);
      if (Number(previous!.toString('latin1')) !== this.cursor) return this.compacted();
      this.cursor = revision;
      this.observer.committed(changesOf(revision, writes));
    }
  }

  /**
   * What the answer to a commit says of the feed is shown without being read there, if it is what comes next. True: nothing else has
   * been written since the answer before, and all of it is shown.
   */
  made({ previous, revision, changes }: OwnEntry): boolean {
    const isAlone = previous === this.own;
    this.own = revision;
    if (this.cursor === previous && !this.over) {
      this.cursor = revision;
      this.observer.committed(changes());
    }
    return isAlone && this.cursor >= revision;
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
