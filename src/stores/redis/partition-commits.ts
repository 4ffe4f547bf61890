import { changeOf } from '../change-of.js';
import { exactText } from '../exact-utf8.js';
import { type Change, type CommitOutcome, type Write } from '../state-store.interface.js';
import { type RedisPartition } from './redis-partition.js';

export interface AskedCommit {
  readonly partition: RedisPartition;
  readonly writes: readonly Write[];
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** An entry of a feed, made by a commit of this process. */
export interface OwnEntry {
  readonly partition: RedisPartition;
  /** The revision of the entry before it. */
  readonly previous: number;
  readonly revision: number;
  changes(): readonly Change[];
}

/** As `commit.lua` answers for one partition. */
export type PartitionResult = readonly [previous: string, made: string, conflicts: string];

const NONE: ReadonlySet<number> = new Set();

/** The commits of a call to one partition. Those that can be made are made at one revision; so no key is written twice. */
export class PartitionCommits {
  private readonly commits: AskedCommit[] = [];
  private readonly written = new Set<string>();

  constructor(readonly partition: RedisPartition) {}

  writesAnyOf(writes: readonly Write[]): boolean {
    return writes.some(({ key }) => this.written.has(key));
  }

  add(commit: AskedCommit): void {
    this.commits.push(commit);
    for (const { key } of commit.writes) this.written.add(key);
  }

  /** What the script is told of them. */
  addTo(args: (string | Buffer)[]): void {
    const kindsAt = args.push(`${this.partition.newest}`, '') - 1;
    let kinds = '';
    for (const { writes } of this.commits) {
      for (let n = 0; n < writes.length; n++) {
        const write = writes[n]!;
        const kind = 'put' in write ? 'P' : 'D';
        kinds += n === 0 ? kind : kind.toLowerCase();
        args.push(
          exactText(write.key),
          write.expect === 'absent' ? '' : `${write.expect} `,
          'put' in write ? exactText(write.put.toString()) : '',
        );
      }
    }
    args[kindsAt] = kinds;
  }

  /** Returns what was made. `missing`: why it may yet be lost. */
  settle([previous, made, conflicts]: PartitionResult, missing: Error | undefined): OwnEntry | undefined {
    const refused = conflicts === '' ? NONE : new Set(conflicts.split(' ').map(Number));
    const outcome = outcomeOf(made, missing);
    const { partition } = this;
    partition.newest = Math.max(partition.newest, Number(made) || 0);
    for (let n = 0; n < this.commits.length; n++) {
      this.commits[n]!.resolve(refused.has(n + 1) ? { status: 'conflict' } : outcome);
    }
    if (outcome.status !== 'committed') return undefined;
    const { revision } = outcome;
    const changes = () => this.changes(revision, refused);
    return { partition, previous: Number(previous), revision, changes };
  }

  private changes(revision: number, refused: ReadonlySet<number>): Change[] {
    const changes: Change[] = [];
    for (let n = 0; n < this.commits.length; n++) {
      if (refused.has(n + 1)) continue;
      for (const write of this.commits[n]!.writes) changes.push(changeOf(write, revision));
    }
    return changes;
  }
}

function outcomeOf(made: string, missing: Error | undefined): CommitOutcome {
  if (made === '') return { status: 'conflict' };
  if (made.startsWith('!')) return { status: 'unknown', cause: new Error(made.slice(1)) };
  return missing ? { status: 'unknown', cause: missing } : { status: 'committed', revision: Number(made) };
}
