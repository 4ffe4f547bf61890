/**
 * The port behind which an engine keeps Holdfast's state.
 *
 * What it promises is compare-and-set with revisions, nothing more: it knows no locks. Every engine is
 * held to these promises by the exported contract suite (`state-store.contract.ts`).
 */
export interface StateStore {
  /** How many partitions keys are spread over. Fixed for the life of the stored data. */
  readonly partitionCount: number;

  /** Several processes may have it open at once. Of an embedded store this is absent. */
  readonly shared?: boolean;

  /**
   * Nobody reads it but whoever writes, and all that a watch shows has the mark of its write: nobody learns from what is stored what has
   * happened. Of a shared store this is absent; it may be absent of any.
   */
  readonly exclusive?: boolean;

  /** Opens or creates the state. Rejects with a `StoreError` a person can act on. */
  open(): Promise<void>;

  /** Everything acknowledged is durable before this resolves. Idempotent. */
  close(): Promise<void>;

  /**
   * The items of these keys as of one moment, in the order asked, `undefined` where there is none.
   * Linearizable: sees every commit that was acknowledged before the call.
   */
  get(partition: number, keys: readonly string[]): Promise<(Item | undefined)[]>;

  /**
   * All writes or none, at least one, each key once; anything else, and what is over the limits below, is rejected with `STORE_LIMIT`.
   * Committed: one revision for all of them, greater than every earlier revision of the partition and never given out again, not after
   * deletes, restarts or failovers. A rejection (`StoreError`) means that nothing was written and nothing ever will be by this call.
   */
  commit(partition: number, writes: readonly Write[]): Promise<CommitOutcome>;

  /**
   * Independent commits in one round trip. Those that write one key are judged in the order given; between others the engine
   * chooses, and may make some of them at the same revision: a watch then shows these as one. Each promise is what `commit` would
   * have given.
   */
  commitMany(commits: readonly Commit[]): Promise<CommitOutcome>[];

  /**
   * Every item of the partition, in pages. The cursor was taken before the first item was read: a watch from it
   * misses nothing that the listing did not show (and may repeat what it did). With a prefix, only keys that begin so.
   */
  list(partition: number, prefix?: string): Promise<Listing>;

  /**
   * Calls the observer with every commit after the cursor, whole and in commit order, tombstones included.
   * A commit is shown to watchers only once it is durable, and never before `watch` has returned.
   */
  watch(partition: number, cursor: Cursor, observer: WatchObserver): Unwatch;
}

export const STATE_STORE = Symbol('STATE_STORE');

/** A partition's position in commit order: everything up to and including this revision has been seen. */
export type Cursor = number;

export interface Item {
  readonly key: string;
  readonly revision: number;
  readonly value: string;
}

/** What the key must be at for the write to apply: this very revision, or not there at all. */
export type Expectation = number | 'absent';

/**
 * A string, or what becomes one when it is wanted, always the same. An engine that keeps what it is given in memory need not want it before
 * somebody reads it.
 */
export interface Text {
  /** In UTF-16 units; of what is not a string yet, at the most. */
  readonly length: number;
  toString(): string;
}

export type Write = (
  | { readonly key: string; readonly expect: Expectation; readonly put: Text }
  | { readonly key: string; readonly expect: number; readonly delete: true }
) &
  Marked;

/** Whatever the writer wants to find again in the change that it makes; not stored. */
interface Marked {
  readonly by?: object | undefined;
}

export interface Commit {
  readonly partition: number;
  readonly writes: readonly Write[];
}

export type CommitOutcome =
  | { readonly status: 'committed'; readonly revision: number }
  /** Some expectation did not hold; nothing was written. */
  | { readonly status: 'conflict' }
  /** The engine's answer was lost: the commit may have been applied, or may still be. */
  | { readonly status: 'unknown'; readonly cause: unknown };

export interface Listing {
  /** Where there are several partitions: the revision of this one's last commit. */
  readonly cursor: Cursor;
  readonly pages: AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>;
}

export interface Change {
  readonly key: string;
  readonly revision: number;
  /** `undefined`: the key was deleted at this revision. */
  readonly value: Text | undefined;
  /** As the write had it, if the store knows whose it was; a change that was read back from the engine has none. */
  readonly by?: object | undefined;
}

export interface WatchObserver {
  /** The changes of one commit, in the order they were written. Must not throw. */
  committed(changes: readonly Change[]): void;
  /** The changes after the cursor are no longer kept: list again. The watch is over. */
  compacted(): void;
  /**
   * The engine is not heard: what is committed from now on is shown late. The watch goes on, and takes up where it was as
   * soon as it can. Embedded stores never call this; of others, as soon as the connection is known to be lost. The cause is
   * for people: an error that says what is wrong, if that is known.
   */
  interrupted?(cause?: unknown): void;
  /** After `interrupted`: everything that was committed meanwhile has been shown. */
  resumed?(): void;
}

export type Unwatch = () => void;

/** Longest value an engine must take, in bytes of UTF-8. etcd's default request limit leaves room for many such. */
export const MAX_VALUE_BYTES = 64 * 1024;

/** Longest key an engine must take, in bytes of UTF-8: a 512-character resource id and the name of a section of it. */
export const MAX_KEY_BYTES = 1900;
