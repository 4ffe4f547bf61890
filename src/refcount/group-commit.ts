/**
 * Combines the changes that arrive while a commit is under way into the next one, so that many callers share one
 * expensive write. A caller's promise settles with the very commit that carried its change. Commits never overlap and
 * keep the order of arrival. A failed commit is not repeated, and the next one goes ahead without its changes.
 */
export class GroupCommit<Change> {
  private gathered: Change[] = [];
  private gathering: Promise<void> | undefined;
  private newest: Promise<void> = Promise.resolve();

  constructor(private readonly commit: (changes: readonly Change[]) => Promise<void>) {}

  add(change: Change): Promise<void> {
    this.gathered.push(change);
    this.gathering ??= this.newest = this.commitAfter(this.newest);
    return this.gathering;
  }

  /** Every change added so far is committed or has failed. */
  async idle(): Promise<void> {
    await settledEitherWay(this.newest);
  }

  private async commitAfter(previous: Promise<void>): Promise<void> {
    await settledEitherWay(previous);
    const changes = this.gathered;
    this.gathered = [];
    this.gathering = undefined;
    await this.commit(changes);
  }
}

/** The failure of a commit is told to those who added to it, nobody else. */
async function settledEitherWay(commit: Promise<void>): Promise<void> {
  await commit.catch(() => undefined);
}
