import { type Change, type Cursor, type Unwatch, type WatchObserver } from './state-store.interface.js';

/**
 * How many characters of keys and values are kept for watchers that resume. A watcher of an embedded store only has
 * to bridge the time from its `list` to its `watch`, in which nobody else watches: this is some seconds of commits
 * at full speed. Characters, not commits, because a commit may carry anything from nothing to many values of 64 KB.
 */
export const KEPT_CHARACTERS = 16 * 1024 * 1024;

/** While somebody watches. Little, because what outlives V8's young generation leaves holes in the old one when it goes. */
export const KEPT_CHARACTERS_WATCHED = KEPT_CHARACTERS / 256;

/** What a kept change costs beside its text: the objects around it. */
const CHARACTERS_PER_CHANGE = 100;

/** Emptied slots at the front of the log are cut off once there are this many, so that cutting costs little. */
const SLOTS_BEFORE_CUT = 1024;

interface KeptCommit {
  readonly revision: Cursor;
  readonly changes: readonly Change[];
  readonly characters: number;
}

interface Watcher {
  readonly observer: WatchObserver;
  over: boolean;
}

const FORGOTTEN: KeptCommit = { revision: 0, changes: [], characters: 0 };

/**
 * The change feed of an embedded store: shows commits to watchers in the order they were appended.
 *
 * Promises: a watcher that has caught up is called inside `append`, so before the commit is acknowledged; a
 * commit made by an observer is shown after the one being shown, to everybody. Resuming is possible for as
 * long as the commits after the cursor are kept; otherwise, and for a cursor this feed never gave out, the
 * watcher is told `compacted`. An observer is never called before `watch` has returned.
 * Does not promise: history across restarts, or a defence against an observer that throws.
 */
export class ChangeFeed {
  private log: KeptCommit[] = [];
  private oldest = 0;
  private characters = 0;
  private readonly watchers = new Set<Watcher>();
  private readonly unshown: (readonly Change[])[] = [];
  private showing = false;

  /** Everything after `floor` is kept; `last` is the newest commit shown. */
  private floor: Cursor;
  last: Cursor;

  constructor(start: Cursor) {
    this.floor = start;
    this.last = start;
  }

  append(revision: Cursor, changes: readonly Change[]): void {
    this.last = revision;
    this.keep({ revision, changes, characters: charactersOf(changes) });
    if (this.watchers.size === 0) return;
    this.unshown.push(changes);
    if (!this.showing) this.show();
  }

  watch(cursor: Cursor, observer: WatchObserver): Unwatch {
    const watcher: Watcher = { observer, over: false };
    queueMicrotask(() => this.catchUp(watcher, cursor));
    return () => {
      watcher.over = true;
      this.watchers.delete(watcher);
    };
  }

  /** History up to here is no longer certain: every watcher must list again. */
  restart(revision: Cursor): void {
    this.log = [];
    this.oldest = 0;
    this.characters = 0;
    this.floor = revision;
    this.last = revision;
    for (const watcher of [...this.watchers]) this.compacted(watcher);
  }

  private show(): void {
    this.showing = true;
    for (let next = 0; next < this.unshown.length; next++) {
      for (const watcher of this.watchers) watcher.observer.committed(this.unshown[next]!);
    }
    this.unshown.length = 0;
    this.showing = false;
  }

  private catchUp(watcher: Watcher, cursor: Cursor): void {
    while (!watcher.over) {
      if (cursor < this.floor || cursor > this.last) return this.compacted(watcher);
      const next = this.log[this.indexAfter(cursor)];
      if (!next) break;
      cursor = next.revision;
      watcher.observer.committed(next.changes);
    }
    if (!watcher.over) this.watchers.add(watcher);
  }

  private compacted(watcher: Watcher): void {
    watcher.over = true;
    this.watchers.delete(watcher);
    watcher.observer.compacted();
  }

  private keep(commit: KeptCommit): void {
    this.log.push(commit);
    this.characters += commit.characters;
    const limit = this.watchers.size > 0 ? KEPT_CHARACTERS_WATCHED : KEPT_CHARACTERS;
    while (this.characters > limit) {
      const forgotten = this.log[this.oldest]!;
      this.log[this.oldest++] = FORGOTTEN;
      this.characters -= forgotten.characters;
      this.floor = forgotten.revision;
    }
    if (this.oldest > SLOTS_BEFORE_CUT && this.oldest * 2 > this.log.length) {
      this.log = this.log.slice(this.oldest);
      this.oldest = 0;
    }
  }

  private indexAfter(cursor: Cursor): number {
    let low = this.oldest;
    let high = this.log.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.log[middle]!.revision > cursor) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function charactersOf(changes: readonly Change[]): number {
  let characters = 0;
  for (const { key, value } of changes)
    characters += CHARACTERS_PER_CHANGE + key.length + (value?.length ?? 0);
  return characters;
}
