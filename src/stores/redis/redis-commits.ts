import { type BatchTerms, CommitBatch } from './commit-batch.js';
import { type AskedCommit, type OwnEntry } from './partition-commits.js';
import { type RedisConnection } from './redis-connection.js';
import { isMoved, isUnknownScript, redisError } from './redis-faults.js';
import { type RedisNodes } from './redis-nodes.js';
import { COMMIT_SCRIPT } from './redis-scripts.js';

/** A commit that a server refused before looking at it is sent again: to the right node, then with its script. */
const MOST_ATTEMPTS = 3;

/** Brings commits to the primaries of their partitions, and what became of them to those who asked. */
export class RedisCommits {
  /** `made` hears of what was made before whoever asked for it. */
  constructor(
    private readonly nodes: RedisNodes,
    private readonly terms: BatchTerms,
    private readonly made: (entry: OwnEntry) => void,
  ) {}

  send(asked: readonly AskedCommit[], attempts = MOST_ATTEMPTS): void {
    const batches = new Map<RedisConnection, CommitBatch>();
    for (const commit of asked) {
      try {
        this.batchFor(commit.partition.number, batches).add(commit);
      } catch (error) {
        commit.reject(error);
      }
    }
    for (const batch of batches.values()) void this.deliver(batch, attempts);
  }

  private batchFor(partition: number, batches: Map<RedisConnection, CommitBatch>): CommitBatch {
    const connection = this.nodes.connectionOf(partition);
    const known = batches.get(connection);
    if (known) return known;
    const batch = new CommitBatch(connection.ready('commit'), this.terms);
    batches.set(connection, batch);
    return batch;
  }

  private async deliver(batch: CommitBatch, attempts: number): Promise<void> {
    const again: AskedCommit[] = [];
    for (const { reason, commits } of await batch.send(this.made)) {
      try {
        if (attempts === 1 || !(await this.isMended(reason, commits[0]!))) throw redisError('commit', reason);
        again.push(...commits);
      } catch (error) {
        for (const { reject } of commits) reject(error);
      }
    }
    if (again.length > 0) this.send(again, attempts - 1);
  }

  /** Whether the server refused it only because it is the wrong one, or does not know the script. */
  private async isMended(reason: Error, { partition }: AskedCommit): Promise<boolean> {
    if (isMoved(reason)) await this.nodes.locate();
    else if (isUnknownScript(reason)) {
      await this.nodes.ask(partition.number, 'commit', (redis) => redis.script('LOAD', COMMIT_SCRIPT));
    } else return false;
    return true;
  }
}
