import {
  type AskedCommit,
  type OwnEntry,
  PartitionCommits,
  type PartitionResult,
} from './partition-commits.js';
import { type RedisPartition } from './redis-partition.js';

/** What the script is told once for all commits of a call. */
export interface CommitTerms {
  readonly format: string;
  readonly partitions: number;
  readonly historyBytes: number;
}

/** A call keeps everybody else from Redis for this many writes: about a millisecond. */
const MOST_WRITES = 100;

/** And is an entry of the feed, of which a reader asks for a hundred at once. */
const MOST_CHARACTERS = 256 * 1024;

const KEYS_PER_PARTITION = 4;
const RESULTS_PER_PARTITION = 3;

/** Commits for one run of the script: together as long as that is short. */
export class CommitCall {
  readonly commits: AskedCommit[] = [];
  private readonly parts = new Map<RedisPartition, PartitionCommits>();
  private writes = 0;
  private characters = 0;

  /** False: it belongs into another call. */
  add(commit: AskedCommit): boolean {
    const writes = this.writes + commit.writes.length;
    const characters = this.characters + charactersOf(commit);
    if (this.writes > 0 && (writes > MOST_WRITES || characters > MOST_CHARACTERS)) return false;
    const part = this.parts.get(commit.partition) ?? new PartitionCommits(commit.partition);
    if (part.writesAnyOf(commit.writes)) return false;
    this.parts.set(commit.partition, part);
    part.add(commit);
    this.commits.push(commit);
    this.writes = writes;
    this.characters = characters;
    return true;
  }

  /** How many keys, the keys, and what else the script is told. */
  scriptArguments({ format, partitions, historyBytes }: CommitTerms): (string | Buffer)[] {
    const args: (string | Buffer)[] = [`${this.parts.size * KEYS_PER_PARTITION}`];
    for (const { keys } of this.parts.keys()) args.push(keys.head, keys.items, keys.index, keys.feed);
    args.push(format, `${partitions}`, `${Math.ceil(historyBytes / 2)}`);
    for (const part of this.parts.values()) part.addTo(args);
    return args;
  }

  /** Says to everybody what the script has answered. Returns what was made. */
  settle(results: readonly string[], missing: Error | undefined): OwnEntry[] {
    const made: OwnEntry[] = [];
    let at = 0;
    for (const part of this.parts.values()) {
      const result = results.slice(at, (at += RESULTS_PER_PARTITION)) as unknown as PartitionResult;
      const entry = part.settle(result, missing);
      if (entry) made.push(entry);
    }
    return made;
  }
}

function charactersOf({ writes }: AskedCommit): number {
  let characters = 0;
  for (const write of writes) characters += write.key.length + ('put' in write ? write.put.length : 0);
  return characters;
}
