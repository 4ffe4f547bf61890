import { exactText } from '../exact-utf8.js';
import { type CommitOutcome, type Write } from '../state-store.interface.js';
import { redisError } from './redis-faults.js';
import { type PartitionKeys } from './redis-keys.js';

/** What the script is told once for all commits of a call. */
export interface CommitTerms {
  readonly format: string;
  readonly partitions: number;
  readonly historyBytes: number;
}

export interface AskedCommit {
  readonly keys: PartitionKeys;
  /** The highest revision seen of the partition. */
  readonly seen: number;
  readonly writes: readonly Write[];
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** A call keeps everybody else from Redis for this many writes: about a millisecond. */
const MOST_WRITES = 100;

/** And is an entry of the feed, of which a reader asks for a hundred at once. */
const MOST_CHARACTERS = 256 * 1024;

/** Commits for one run of the script: together as long as that is short. */
export class CommitCall {
  readonly commits: AskedCommit[] = [];
  private readonly partitions = new Map<PartitionKeys, number>();
  private writes = 0;
  private characters = 0;

  /** False: it belongs into another call. */
  add(commit: AskedCommit): boolean {
    const writes = this.writes + commit.writes.length;
    const characters = this.characters + charactersOf(commit);
    if (this.writes > 0 && (writes > MOST_WRITES || characters > MOST_CHARACTERS)) return false;
    this.writes = writes;
    this.characters = characters;
    this.commits.push(commit);
    if (!this.partitions.has(commit.keys)) this.partitions.set(commit.keys, this.partitions.size + 1);
    return true;
  }

  get keys(): string[] {
    return Array.from(this.partitions.keys(), ({ head, items, index, feed }) => [
      head,
      items,
      index,
      feed,
    ]).flat();
  }

  scriptArguments({ format, partitions, historyBytes }: CommitTerms): (string | Buffer)[] {
    const all: (string | Buffer)[] = [format, `${partitions}`, `${Math.ceil(historyBytes / 2)}`];
    for (const { keys, seen, writes } of this.commits) {
      all.push(`${this.partitions.get(keys)!}`, `${seen}`, `${writes.length}`);
      for (const write of writes) {
        all.push(exactText(write.key), `${write.expect}`, 'put' in write ? exactText(`+${write.put}`) : '-');
      }
    }
    return all;
  }
}

function charactersOf({ writes }: AskedCommit): number {
  let characters = 0;
  for (const write of writes) characters += write.key.length + ('put' in write ? write.put.length : 0);
  return characters;
}

/** As `commit.lua` answers for one commit. Throws the error that kept it from writing anything. */
export function outcomeOf(result: string): CommitOutcome {
  if (result === '') return { status: 'conflict' };
  if (result.startsWith('!')) throw redisError('commit', new Error(result.slice(1)));
  return { status: 'committed', revision: Number(result) };
}
