import { Subject } from 'rxjs';
import { type Clock } from '../common/clock.interface.js';
import {
  type Commit,
  type CommitOutcome,
  type StateStore,
  type Write,
} from '../stores/state-store.interface.js';

/** One commit as the store took it, for whoever measures. */
export interface MeasuredCommit {
  /** How many commands it answers. */
  readonly commands: number;
  readonly tookMs: number;
  /** `failed`: the store said that nothing was written. */
  readonly outcome: CommitOutcome['status'] | 'failed';
}

interface WaitingCommit {
  readonly commit: Commit;
  readonly commands: number;
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** Runs what is chained to it after what runs now; `queueMicrotask` does the same at twice the price. */
const NEXT = Promise.resolve();

/** Sends the commits that become ready in one turn of the event loop to the store together. */
export class Committer {
  readonly commits$ = new Subject<MeasuredCommit>();
  private waiting: WaitingCommit[] = [];

  constructor(
    private readonly store: StateStore,
    private readonly clock: Clock,
  ) {}

  /** `commands`: how many of them it answers. */
  commit(partition: number, writes: readonly Write[], commands: number): Promise<CommitOutcome> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) void NEXT.then(this.send);
      this.waiting.push({ commit: { partition, writes }, commands, resolve, reject });
    });
  }

  private readonly send = (): void => {
    const sent = this.waiting;
    this.waiting = [];
    const commits = sent.map(({ commit }) => commit);
    const sentAtMs = this.clock.monotonicMs();
    const outcomes = this.outcomesOf(commits);
    for (let i = 0; i < sent.length; i++) this.settle(sent[i]!, outcomes[i]!, sentAtMs);
  };

  private settle(
    { commands, resolve, reject }: WaitingCommit,
    pending: Promise<CommitOutcome>,
    sentAtMs: number,
  ): void {
    pending.then(
      (outcome) => {
        resolve(outcome);
        this.measure(outcome.status, commands, sentAtMs);
      },
      (error: unknown) => {
        reject(error);
        this.measure('failed', commands, sentAtMs);
      },
    );
  }

  private measure(outcome: MeasuredCommit['outcome'], commands: number, sentAtMs: number): void {
    if (!this.commits$.observed) return;
    this.commits$.next({ commands, outcome, tookMs: this.clock.monotonicMs() - sentAtMs });
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
