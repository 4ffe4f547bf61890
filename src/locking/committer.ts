import {
  type Commit,
  type CommitOutcome,
  type StateStore,
  type Write,
} from '../stores/state-store.interface.js';

/** Sends the commits that become ready in one turn of the event loop to the store together. */
export class Committer {
  private waiting: { commit: Commit; resolve: (outcome: Promise<CommitOutcome>) => void }[] = [];

  constructor(private readonly store: StateStore) {}

  commit(partition: number, writes: readonly Write[]): Promise<CommitOutcome> {
    return new Promise((resolve) => {
      if (this.waiting.length === 0) queueMicrotask(() => this.send());
      this.waiting.push({ commit: { partition, writes }, resolve });
    });
  }

  private send(): void {
    const sent = this.waiting;
    this.waiting = [];
    const commits = sent.map(({ commit }) => commit);
    const outcomes = this.outcomesOf(commits);
    for (const [index, { resolve }] of sent.entries()) resolve(outcomes[index]!);
  }

  /** A store of the user's own may throw where it should reject; here nobody would hear of it. */
  private outcomesOf(commits: readonly Commit[]): Promise<CommitOutcome>[] {
    try {
      return this.store.commitMany(commits);
    } catch (error) {
      return commits.map(() => Promise.reject(error));
    }
  }
}
