import { type Redis } from 'ioredis';
import { CommitCall, type CommitTerms } from './commit-call.js';
import { type AskedCommit, type OwnEntry } from './partition-commits.js';
import { isRefusal, wasNeverSent } from './redis-faults.js';
import { type RedisPartition } from './redis-partition.js';
import { missingReplicas, replyTo } from './redis-replicas.js';
import { COMMIT_SHA } from './redis-scripts.js';
import { WireCommand } from './wire-command.js';

export interface BatchTerms extends CommitTerms {
  /** A run of the script must keep to one partition: a Cluster allows it one slot. */
  readonly onePartitionPerCall: boolean;
  /** How many replicas must have what was committed, and how long that may take. */
  readonly wait: number;
  readonly waitTimeoutMs: number;
}

/** Commits of which nothing was made. */
export interface RefusedCommits {
  readonly reason: Error;
  readonly commits: readonly AskedCommit[];
}

/** Commits for one primary, sent together: a few runs of the script, then one wait for replicas. */
export class CommitBatch {
  private readonly calls: CommitCall[] = [];
  /** The call that takes the next commit, of this partition or of any. */
  private readonly open = new Map<RedisPartition | undefined, CommitCall>();

  constructor(
    private readonly redis: Redis,
    private readonly terms: BatchTerms,
  ) {}

  /** Those of one partition stay in order: the engine judges calls one after the other. */
  add(commit: AskedCommit): void {
    const group = this.terms.onePartitionPerCall ? commit.partition : undefined;
    if (this.open.get(group)?.add(commit)) return;
    const call = new CommitCall();
    call.add(commit);
    this.open.set(group, call);
    this.calls.push(call);
  }

  /**
   * Says to everybody what became of their commit, except to those that it returns. `made` hears of it before they do. All on one
   * connection, because on another one a wait would count replicas of nothing.
   */
  async send(made: (entry: OwnEntry) => void): Promise<RefusedCommits[]> {
    const { wait, waitTimeoutMs } = this.terms;
    const replies = this.calls.map((call) => replyTo(this.run(call)));
    const missing =
      wait > 0
        ? missingReplicas(await replyTo(this.redis.wait(wait, waitTimeoutMs)), wait, 'the commit')
        : undefined;
    const refused: RefusedCommits[] = [];
    for (let n = 0; n < replies.length; n++) {
      const call = this.calls[n]!;
      const reply = await replies[n]!;
      if ('result' in reply) call.settle(reply.result as string[], missing).forEach(made);
      else if (isRefusal(reply.error) || wasNeverSent(reply.error)) {
        refused.push({ reason: reply.error, commits: call.commits });
      } else for (const { resolve } of call.commits) resolve({ status: 'unknown', cause: reply.error });
    }
    return refused;
  }

  private run(call: CommitCall): Promise<unknown> {
    const command = new WireCommand('evalsha', [COMMIT_SHA, ...call.scriptArguments(this.terms)]);
    return this.redis.sendCommand(command) as Promise<unknown>;
  }
}
