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
    const outcomes = this.store.commitMany(sent.map(({ commit }) => commit));
    for (const [index, { resolve }] of sent.entries()) resolve(outcomes[index]!);
  }
}
