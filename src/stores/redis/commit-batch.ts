import { type Redis } from 'ioredis';
import { type CommitOutcome } from '../state-store.interface.js';
import { type AskedCommit, CommitCall, type CommitTerms, outcomeOf } from './commit-call.js';
import { isRefusal, redisError, wasNeverSent } from './redis-faults.js';
import { type PartitionKeys } from './redis-keys.js';
import { COMMIT_SHA } from './redis-scripts.js';

export interface BatchTerms extends CommitTerms {
  /** A run of the script must keep to one partition: a Cluster allows it one slot. */
  readonly onePartitionPerCall: boolean;
  /** How many replicas must have what was committed, and how long that may take. */
  readonly wait: number;
  readonly waitTimeoutMs: number;
}

type Reply = [error: Error | null, result: unknown];

/** Commits for one primary, sent in one round trip: a few runs of the script, then one wait for replicas. */
export class CommitBatch {
  private readonly calls: CommitCall[] = [];
  /** The call that takes the next commit, of this partition or of any. */
  private readonly open = new Map<PartitionKeys | undefined, CommitCall>();

  constructor(
    private readonly redis: Redis,
    private readonly terms: BatchTerms,
  ) {}

  add(commit: Pick<AskedCommit, 'keys' | 'seen' | 'writes'>): Promise<CommitOutcome> {
    return new Promise((resolve, reject) => this.place({ ...commit, resolve, reject }));
  }

  /** In the same round trip, because on another connection a wait would count replicas of nothing. */
  async send(): Promise<void> {
    const { wait, waitTimeoutMs } = this.terms;
    const pipeline = this.redis.pipeline();
    for (const call of this.calls) {
      const { keys } = call;
      pipeline.evalsha(COMMIT_SHA, keys.length, ...keys, ...call.scriptArguments(this.terms));
    }
    if (wait > 0) pipeline.wait(wait, waitTimeoutMs);
    const replies = (await pipeline.exec()) as Reply[];
    const missing = wait > 0 ? missingReplicas(replies.at(-1)!, wait) : undefined;
    for (const [index, { commits }] of this.calls.entries()) {
      const reply = replies[index]!;
      for (const [at, commit] of commits.entries()) settle(commit, reply, at, missing);
    }
  }

  /** Those of one partition stay in order: the engine judges calls, and commits within a call, one after the other. */
  private place(commit: AskedCommit): void {
    const group = this.terms.onePartitionPerCall ? commit.keys : undefined;
    if (this.open.get(group)?.add(commit)) return;
    const call = new CommitCall();
    call.add(commit);
    this.open.set(group, call);
    this.calls.push(call);
  }
}

function settle(
  { resolve, reject }: AskedCommit,
  [error, results]: Reply,
  at: number,
  missing: Error | undefined,
): void {
  try {
    if (error && (isRefusal(error) || wasNeverSent(error))) throw redisError('commit', error);
    const outcome: CommitOutcome = error
      ? { status: 'unknown', cause: error }
      : outcomeOf((results as string[])[at]!);
    resolve(outcome.status === 'committed' && missing ? { status: 'unknown', cause: missing } : outcome);
  } catch (reason) {
    reject(reason);
  }
}

/** The primary has the commit; whether it outlives the primary is what is not known. */
function missingReplicas([error, count]: Reply, wanted: number): Error | undefined {
  if (error) return error;
  if (Number(count) >= wanted) return undefined;
  return new Error(`Only ${Number(count)} of ${wanted} replicas have acknowledged the commit.`);
}
