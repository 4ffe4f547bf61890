import { changeOf } from '../change-of.js';
import { type Change, type Cursor, type Expectation, type Write } from '../state-store.interface.js';
import { type SavedChange } from './saved-change.js';

/**
 * The commits that go to disk together. Each is judged against what is stored and what the
 * commits before it in the group make of it; of several writes to one key only the last goes to disk.
 */
export class Group {
  readonly changes = new Map<string, SavedChange>();
  /** With which the last commit was asked for. */
  private call: object | undefined;

  /** `revision`: the newest one given out so far. */
  constructor(
    private readonly storedRevision: (key: string) => number | undefined,
    public revision: Cursor,
  ) {}

  /**
   * The changes of this commit, all at one revision: that of the commit before it, if both were asked for in one call and nothing in
   * the group has written to its keys, else a new one. `undefined` when some expectation does not hold.
   */
  add(writes: readonly Write[], call?: object): readonly Change[] | undefined {
    for (const { key, expect } of writes) if (this.current(key) !== expect) return undefined;
    const isShared =
      call !== undefined && call === this.call && !writes.some(({ key }) => this.changes.has(key));
    if (!isShared) this.revision++;
    this.call = call;
    const { revision } = this;
    return writes.map((write) => {
      const { key } = write;
      // Kept until it is saved, without the mark of whoever wrote it.
      this.changes.set(key, { key, revision, value: 'put' in write ? write.put.toString() : undefined });
      return changeOf(write, revision);
    });
  }

  private current(key: string): Expectation {
    const change = this.changes.get(key);
    if (change) return change.value === undefined ? 'absent' : change.revision;
    return this.storedRevision(key) ?? 'absent';
  }
}
