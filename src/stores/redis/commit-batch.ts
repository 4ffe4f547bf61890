import { type ChainableCommander, type Redis } from 'ioredis';
import { type CommitOutcome } from '../state-store.interface.js';
import { isRefusal, redisError, wasNeverSent } from './redis-faults.js';
import { type PartitionKeys } from './redis-keys.js';
import { COMMIT_SHA } from './redis-scripts.js';

/** How many replicas must have what was committed, and how long that may take. */
export interface ReplicaWait {
  readonly replicas: number;
  readonly timeoutMs: number;
}

type Reply = [error: Error | null, result: unknown];

interface Added {
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** Commits for one primary, sent in one round trip: each a script of its own, then one wait for replicas. */
export class CommitBatch {
  private readonly pipeline: ChainableCommander;
  private readonly added: Added[] = [];

  constructor(
    redis: Redis,
    private readonly wait: ReplicaWait,
  ) {
    this.pipeline = redis.pipeline();
  }

  add(
    { head, items, index, feed }: PartitionKeys,
    scriptArguments: readonly (string | Buffer)[],
  ): Promise<CommitOutcome> {
    this.pipeline.evalsha(COMMIT_SHA, 4, head, items, index, feed, ...scriptArguments);
    return new Promise((resolve, reject) => this.added.push({ resolve, reject }));
  }

  /** In the same round trip, because on another connection a wait would count replicas of nothing. */
  async send(): Promise<void> {
    if (this.wait.replicas > 0) this.pipeline.wait(this.wait.replicas, this.wait.timeoutMs);
    const replies = (await this.pipeline.exec()) as Reply[];
    const missing = this.wait.replicas > 0 ? missingReplicas(replies.at(-1)!, this.wait.replicas) : undefined;
    for (const [index, { resolve, reject }] of this.added.entries()) {
      try {
        const outcome = outcomeOf(replies[index]!);
        resolve(outcome.status === 'committed' && missing ? { status: 'unknown', cause: missing } : outcome);
      } catch (error) {
        reject(error);
      }
    }
  }
}

function outcomeOf([error, revision]: Reply): CommitOutcome {
  if (error) {
    if (isRefusal(error) || wasNeverSent(error)) throw redisError('commit', error);
    return { status: 'unknown', cause: error };
  }
  return revision === null ? { status: 'conflict' } : { status: 'committed', revision: Number(revision) };
}

/** The primary has the commit; whether it outlives the primary is what is not known. */
function missingReplicas([error, count]: Reply, wanted: number): Error | undefined {
  if (error) return error;
  if (Number(count) >= wanted) return undefined;
  return new Error(`Only ${Number(count)} of ${wanted} replicas have acknowledged the commit.`);
}
