import { type Clock } from '../../common/clock.interface.js';
import { ChangeFeed } from '../change-feed.js';
import { changeOf } from '../change-of.js';
import { assertCommittable } from '../limits.js';
import {
  type Change,
  type Commit,
  type CommitOutcome,
  type Cursor,
  type Item,
  type Listing,
  type StateStore,
  type Text,
  type Unwatch,
  type WatchObserver,
  type Write,
} from '../state-store.interface.js';
import { StoreError } from '../store.error.js';

/** Room for this many commits in a millisecond before the counter could run ahead of the wall clock. */
const REVISIONS_PER_MS = 1000;

/** Enough to make the cost of a page small, few enough to look at in well under a millisecond. */
const ITEMS_PER_PAGE = 1000;

/** What was written, as it was given: most of it nobody ever reads. */
interface Kept {
  readonly key: string;
  readonly revision: number;
  readonly value: Text;
}

/**
 * The state of one process in its memory: `memory:`.
 *
 * Promises the port's guarantees for as long as the process lives. Every operation happens at once, inside
 * the call; watchers are called inside `commit`, before its promise resolves. Revisions start at the wall
 * clock, so that a restarted process goes on above the tokens of the one before it.
 * Does not promise: durability. Closing or ending the process loses the state, and a wall clock set back
 * between two runs lets revisions go back.
 */
export class MemoryStateStore implements StateStore {
  readonly partitionCount = 1;
  readonly exclusive = true;

  private readonly items = new Map<string, Kept>();
  private feed = new ChangeFeed(0);
  private serving = false;

  constructor(private readonly clock: Clock) {}

  async open(): Promise<void> {
    if (this.serving) return;
    this.feed = new ChangeFeed(Math.max(this.feed.last, this.clock.wallMs() * REVISIONS_PER_MS));
    this.serving = true;
  }

  async close(): Promise<void> {
    this.serving = false;
    this.items.clear();
  }

  async get(_partition: number, keys: readonly string[]): Promise<(Item | undefined)[]> {
    this.assertServing('get');
    return keys.map((key) => {
      const kept = this.items.get(key);
      return kept && itemOf(kept);
    });
  }

  commit(partition: number, writes: readonly Write[]): Promise<CommitOutcome> {
    return this.commitMany([{ partition, writes }])[0]!;
  }

  /** At one revision, up to one that deletes: what comes after it may make the same key anew. */
  commitMany(commits: readonly Commit[]): Promise<CommitOutcome>[] {
    let changes: Change[] = [];
    const show = () => {
      if (changes.length > 0) this.feed.append(this.feed.last + 1, changes);
      changes = [];
    };
    const outcomes = commits.map(({ writes }) => {
      const outcome = this.judge(writes);
      if (outcome instanceof StoreError) return Promise.reject(outcome);
      if (outcome.status === 'committed')
        for (const write of writes) changes.push(this.apply(write, outcome.revision));
      if (writes.some((write) => 'delete' in write)) show();
      return Promise.resolve(outcome);
    });
    show();
    return outcomes;
  }

  private judge(writes: readonly Write[]): CommitOutcome | StoreError {
    try {
      this.assertServing('commit');
      assertCommittable(writes);
    } catch (error) {
      return error as StoreError;
    }
    for (const { key, expect } of writes) {
      if ((this.items.get(key)?.revision ?? 'absent') !== expect) return { status: 'conflict' };
    }
    return { status: 'committed', revision: this.feed.last + 1 };
  }

  async list(_partition: number, prefix = ''): Promise<Listing> {
    this.assertServing('list');
    return { cursor: this.feed.last, pages: pagesOf(this.items, prefix) };
  }

  watch(_partition: number, cursor: Cursor, observer: WatchObserver): Unwatch {
    this.assertServing('watch');
    return this.feed.watch(cursor, observer);
  }

  private apply(write: Write, revision: number): Change {
    if ('delete' in write) this.items.delete(write.key);
    else this.items.set(write.key, { key: write.key, revision, value: write.put });
    return changeOf(write, revision);
  }

  private assertServing(operation: string): void {
    if (!this.serving) throw new StoreError('STORE_UNAVAILABLE', operation, 'The memory store is not open.');
  }
}

/** Walks the live map: what is changed meanwhile may or may not show, and is in the feed after the cursor. */
function* pagesOf(items: ReadonlyMap<string, Kept>, prefix: string): Iterable<readonly Item[]> {
  let page: Item[] = [];
  for (const kept of items.values()) {
    if (!kept.key.startsWith(prefix)) continue;
    if (page.push(itemOf(kept)) < ITEMS_PER_PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

function itemOf({ key, revision, value }: Kept): Item {
  return { key, revision, value: value.toString() };
}
