import { describe, expect, it } from 'vitest';
import { put, remove } from '../contract/harness.js';
import { type CommitOutcome, type Write } from '../state-store.interface.js';
import { PartitionCommits } from './partition-commits.js';
import { partitionKeys } from './redis-keys.js';

function asked(...writes: (readonly Write[])[]) {
  const partition = { number: 0, keys: partitionKeys('test/', 0), newest: 1 };
  const commits = new PartitionCommits(partition);
  const outcomes: CommitOutcome[] = [];
  for (const each of writes) {
    commits.add({ partition, writes: each, resolve: (outcome) => outcomes.push(outcome), reject: () => {} });
  }
  return { partition, commits, outcomes };
}

const CONFLICT = { status: 'conflict' };
const COMMITTED = { status: 'committed', revision: 9 };

describe('PartitionCommits', () => {
  it('says to each what became of it, and what was made of all', () => {
    const { partition, commits, outcomes } = asked(
      [put('a', 1), put('b', 2)],
      [put('c', 3, 'new'), remove('d', 3)],
      [put('e', 'absent')],
    );
    const entry = commits.settle(['8', '9', '1 3'], undefined);
    expect(outcomes).toEqual([CONFLICT, COMMITTED, CONFLICT]);
    expect(entry).toMatchObject({ partition, previous: 8, revision: 9 });
    expect(entry!.changes()).toEqual([
      { key: 'c', revision: 9, value: 'new' },
      { key: 'd', revision: 9, value: undefined },
    ]);
    expect(partition.newest).toBe(9);
  });

  it('has made nothing that may be lost, or was made in part', () => {
    const lost = new Error('no replica');
    const waited = asked([put('a', 1)], [put('b', 2)]);
    expect(waited.commits.settle(['8', '9', '2'], lost)).toBeUndefined();
    expect(waited.outcomes).toEqual([{ status: 'unknown', cause: lost }, CONFLICT]);
    const stopped = asked([put('a', 1)]);
    expect(stopped.commits.settle(['8', '!WRONGTYPE', ''], undefined)).toBeUndefined();
    expect(stopped.outcomes).toEqual([{ status: 'unknown', cause: new Error('WRONGTYPE') }]);
  });

  it('has made nothing when no expectation holds', () => {
    const { commits, outcomes } = asked([put('a', 1)]);
    expect(commits.settle(['8', '', '1'], undefined)).toBeUndefined();
    expect(outcomes).toEqual([CONFLICT]);
  });
});
