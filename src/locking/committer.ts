import { Subject } from 'rxjs';
import { type Clock } from '../common/clock.interface.js';
import { type Commit, type CommitOutcome, type StateStore } from '../stores/state-store.interface.js';

/** One commit as the store took it, for whoever measures. */
export interface MeasuredCommit {
  /** How many commands it answers. */
  readonly commands: number;
  readonly tookMs: number;
  /** `failed`: the store said that nothing was written. */
  readonly outcome: CommitOutcome['status'] | 'failed';
}

/** A commit, and who is told what became of it: one of both, once. */
export interface SentCommit extends Commit {
  /** How many commands it answers. */
  readonly commands: number;
  settled(outcome: CommitOutcome): void;
  /** Nothing was written. */
  failed(error: unknown): void;
}

/** Runs what is chained to it after what runs now; `queueMicrotask` does the same at twice the price. */
const NEXT = Promise.resolve();

/** Sends the commits that become ready in one turn of the event loop to the store together. */
export class Committer {
  readonly commits$ = new Subject<MeasuredCommit>();
  private waiting: SentCommit[] = [];

  constructor(
    private readonly store: StateStore,
    private readonly clock: Clock,
  ) {}

  commit(commit: SentCommit): void {
    if (this.waiting.push(commit) === 1) void NEXT.then(this.send);
  }

  private readonly send = (): void => {
    const sent = this.waiting;
    this.waiting = [];
    const sentAtMs = this.clock.monotonicMs();
    const outcomes = this.outcomesOf(sent);
    for (let i = 0; i < sent.length; i++) this.follow(sent[i]!, outcomes[i]!, sentAtMs);
  };

  private follow(commit: SentCommit, pending: Promise<CommitOutcome>, sentAtMs: number): void {
    pending.then(
      (outcome) => {
        this.measure(outcome.status, commit.commands, sentAtMs);
        commit.settled(outcome);
      },
      (error: unknown) => {
        this.measure('failed', commit.commands, sentAtMs);
        commit.failed(error);
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
