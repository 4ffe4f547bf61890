import { type ChangeFeed } from '../change-feed.js';
import { type Change, type CommitOutcome, type Cursor, type Write } from '../state-store.interface.js';
import { type StoreError } from '../store.error.js';
import { Group } from './group.js';
import { type SavedChange } from './saved-change.js';

/** How the writing of a group ended. `failed`: certainly nothing is written. `unknown`: some day it may be. */
export type GroupResult =
  | { readonly status: 'written' }
  | { readonly status: 'fenced' }
  | { readonly status: 'failed' | 'unknown'; readonly cause: Error };

export type NotWritten = Exclude<GroupResult, { status: 'written' }>;

/** The part of the database that a group needs. */
export interface GroupDatabase {
  /** Resolves when the database can be read and written; rejects with a `StoreError` while it cannot. */
  ready(): Promise<void>;
  /** Throws a `StoreError` if the database cannot be read. */
  storedRevision(key: string): number | undefined;
  /** Never rejects. `written` means on disk. */
  write(changes: readonly SavedChange[], revision: Cursor): Promise<GroupResult>;
  /** What to tell callers whose commits did not get written. */
  refusal(result: NotWritten): StoreError;
}

/**
 * Most commits in one group. Judging a commit takes some microseconds of the event loop: this many
 * take a few milliseconds, and the cost of a flush is long since spread thin.
 */
const COMMITS_PER_GROUP = 2000;

interface Waiting {
  readonly writes: readonly Write[];
  readonly call: object | undefined;
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
  changes: readonly Change[] | undefined;
}

/**
 * Group commit: what is asked for in one turn of the event loop, or while a group is on its way to disk, is
 * judged in order and written together with one flush. There is at most one group under way, so a
 * failed group never takes a later one with it.
 *
 * Promises: a commit is shown to the feed and then acknowledged, in commit order, only after its group is on
 * disk. A group that certainly was not written rejects; one that perhaps was resolves `unknown`, and the feed
 * makes its watchers list again. Revisions given to failed groups are not used again.
 */
export class GroupCommitter {
  private queue: Waiting[] = [];
  private underWay: Promise<void> | undefined;

  constructor(
    private readonly database: GroupDatabase,
    private readonly feed: ChangeFeed,
    private revision: Cursor,
  ) {}

  /** Those of one `call` may have one revision. */
  commit(writes: readonly Write[], call?: object): Promise<CommitOutcome> {
    return new Promise((resolve, reject) => {
      this.queue.push({ writes, call, resolve, reject, changes: undefined });
      this.underWay ??= this.run();
    });
  }

  /** Resolves when everything asked for so far is settled. */
  async idle(): Promise<void> {
    while (this.underWay) await this.underWay;
  }

  private async run(): Promise<void> {
    await endOfTurn();
    // What has gathered meanwhile goes before the answers of the last group are made: the disk works beside them.
    while (this.queue.length > 0) await this.commitGroup(this.queue.splice(0, COMMITS_PER_GROUP));
    this.underWay = undefined;
  }

  private async commitGroup(waiting: readonly Waiting[]): Promise<void> {
    const group = await this.judge(waiting);
    if (!group) return;
    if (group.changes.size === 0) return this.acknowledge(waiting);
    this.settle(waiting, await this.database.write([...group.changes.values()], group.revision));
  }

  private async judge(waiting: readonly Waiting[]): Promise<Group | undefined> {
    try {
      await this.database.ready();
      const group = new Group((key) => this.database.storedRevision(key), this.revision);
      for (const one of waiting) one.changes = group.add(one.writes, one.call);
      this.revision = group.revision;
      return group;
    } catch (error) {
      for (const one of waiting) one.reject(error);
      return undefined;
    }
  }

  private settle(waiting: readonly Waiting[], result: GroupResult): void {
    if (result.status === 'written') return this.acknowledge(waiting);
    if (result.status === 'unknown') this.feed.restart(this.revision);
    const refusal = this.database.refusal(result);
    for (const one of waiting) {
      if (result.status === 'unknown' && one.changes) one.resolve({ status: 'unknown', cause: refusal });
      else one.reject(refusal);
    }
  }

  private acknowledge(waiting: readonly Waiting[]): void {
    this.show(waiting);
    for (const { changes, resolve } of waiting) {
      resolve(changes ? { status: 'committed', revision: changes[0]!.revision } : { status: 'conflict' });
    }
  }

  /** Those of one revision together. */
  private show(waiting: readonly Waiting[]): void {
    let shown: Change[] = [];
    for (const { changes } of waiting) {
      if (!changes) continue;
      const { revision } = changes[0]!;
      if (shown.length > 0 && shown[0]!.revision !== revision) {
        this.feed.append(shown[0]!.revision, shown);
        shown = [];
      }
      shown.push(...changes);
    }
    if (shown.length > 0) this.feed.append(shown[0]!.revision, shown);
  }
}

function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
