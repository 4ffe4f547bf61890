import { describe, expect, it } from 'vitest';
import { ChangeFeed } from '../../src/stores/change-feed.js';
import {
  type GroupDatabase,
  GroupCommitter,
  type GroupResult,
} from '../../src/stores/lmdb/group-committer.js';
import { type Change, type Write } from '../../src/stores/state-store.interface.js';
import { StoreError } from '../../src/stores/store.error.js';
import { settled } from '../support/simulated-clock.js';

const START = 1000;
const BROKEN = new StoreError('STORE_UNAVAILABLE', 'commit', 'no disk');

/** Remembers groups and finishes them when told. */
class HeldDatabase implements GroupDatabase {
  readonly groups: Change[][] = [];
  private readonly stored = new Map<string, number>();
  private finish: (result: GroupResult) => void = () => {};

  async ready(): Promise<void> {}

  storedRevision(key: string): number | undefined {
    return this.stored.get(key);
  }

  write(changes: Iterable<Change>): Promise<GroupResult> {
    this.groups.push([...changes]);
    return new Promise((resolve) => (this.finish = resolve));
  }

  refusal(): StoreError {
    return BROKEN;
  }

  async end(result: GroupResult): Promise<void> {
    if (result.status === 'written') {
      for (const { key, revision, value } of this.groups.at(-1)!) {
        if (value === undefined) this.stored.delete(key);
        else this.stored.set(key, revision);
      }
    }
    this.finish(result);
    await settled();
  }
}

function setUp() {
  const database = new HeldDatabase();
  const feed = new ChangeFeed(START);
  const committer = new GroupCommitter(database, feed, START);
  const told: string[] = [];
  feed.watch(START, {
    committed: (changes) => told.push(`shown ${changes[0]!.revision}`),
    compacted: () => told.push('compacted'),
  });
  const commit = (...writes: Write[]): void => {
    committer.commit(writes).then(
      (outcome) => told.push('revision' in outcome ? `acknowledged ${outcome.revision}` : outcome.status),
      (error: StoreError) => told.push(error.code),
    );
  };
  return { database, committer, told, commit };
}

function put(key: string, expect: Write['expect'] = 'absent', value = ''): Write {
  return { key, expect, put: value };
}

describe('GroupCommitter', () => {
  it('writes what is asked for in one turn, and what arrives during a flush, in one group each', async () => {
    const { database, commit } = setUp();
    commit(put('a'));
    await Promise.resolve();
    commit(put('b'));
    await settled();
    commit(put('c'));
    commit(put('d'));
    await settled();
    expect(database.groups.map((group) => group.map(({ key }) => key))).toEqual([['a', 'b']]);
    await database.end({ status: 'written' });
    expect(database.groups.map((group) => group.map(({ key }) => key))).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
  });

  it('shows and acknowledges a commit only when its group is on disk, in commit order', async () => {
    const { database, commit, told } = setUp();
    commit(put('a'));
    commit(put('a'));
    commit(put('b'));
    await settled();
    expect(told).toEqual([]);
    await database.end({ status: 'written' });
    expect(told).toEqual(['shown 1001', 'shown 1002', 'acknowledged 1001', 'conflict', 'acknowledged 1002']);
  });

  it('gives commits of one call one revision and shows them together, unless they write to one key', async () => {
    const { database, committer, told } = setUp();
    const [call, another] = [[], []];
    const ask = (asked: object | undefined, ...writes: Write[]) =>
      void committer
        .commit(writes, asked)
        .then((outcome) => told.push('revision' in outcome ? `${outcome.revision}` : outcome.status));
    ask(undefined, put('z'));
    ask(call, put('z'));
    ask(call, put('a'));
    ask(call, put('b'));
    ask(call, { key: 'b', expect: 1002, delete: true });
    ask(another, put('c'));
    ask(undefined, put('d'));
    ask(undefined, put('e'));
    await settled();
    await database.end({ status: 'written' });
    expect(told).toEqual([
      ...['shown 1001', 'shown 1002', 'shown 1003', 'shown 1004', 'shown 1005', 'shown 1006'],
      ...['1001', 'conflict', '1002', '1002', '1003', '1004', '1005', '1006'],
    ]);
  });

  it('judges a commit by the earlier ones of its group, and writes only the last state of a key', async () => {
    const { database, commit, told } = setUp();
    commit(put('a', 'absent', 'one'));
    commit(put('a', 1001, 'two'));
    commit({ key: 'a', expect: 1002, delete: true });
    commit(put('a', 1001, 'three'));
    commit(put('a', 'absent', 'four'));
    await settled();
    expect(database.groups).toEqual([[{ key: 'a', revision: 1004, value: 'four' }]]);
    await database.end({ status: 'written' });
    expect(told.filter((line) => !line.startsWith('shown'))).toEqual([
      'acknowledged 1001',
      'acknowledged 1002',
      'acknowledged 1003',
      'conflict',
      'acknowledged 1004',
    ]);
  });

  it('rejects a group that was certainly not written, shows nothing of it, and goes on with new revisions', async () => {
    const { database, commit, told } = setUp();
    commit(put('a'));
    commit(put('a'));
    await settled();
    await database.end({ status: 'failed', cause: new Error('full') });
    expect(told).toEqual(['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE']);
    commit(put('a'));
    await settled();
    await database.end({ status: 'written' });
    expect(told.slice(2)).toEqual(['shown 1002', 'acknowledged 1002']);
  });

  it('answers unknown for a group that may have been written, and has its watchers list again', async () => {
    const { database, commit, told } = setUp();
    commit(put('a'));
    commit(put('a'));
    await settled();
    await database.end({ status: 'unknown', cause: new Error('lost') });
    expect(told).toEqual(['compacted', 'unknown', 'STORE_UNAVAILABLE']);
  });

  it('rejects a group that cannot be judged because the database cannot be read', async () => {
    const { database, commit, told } = setUp();
    database.ready = () => Promise.reject(BROKEN);
    commit(put('a'));
    await settled();
    expect(told).toEqual(['STORE_UNAVAILABLE']);
    expect(database.groups).toEqual([]);
  });

  it('answers a conflict with stored state without writing anything', async () => {
    const { database, commit, told } = setUp();
    commit(put('a', 17));
    await settled();
    expect(told).toEqual(['conflict']);
    expect(database.groups).toEqual([]);
  });

  it('is idle only when everything asked for is settled', async () => {
    const { database, committer, commit, told } = setUp();
    commit(put('a'));
    const idle = committer.idle().then(() => told.push('idle'));
    await settled();
    expect(told).toEqual([]);
    await database.end({ status: 'written' });
    await idle;
    expect(told).toEqual(['shown 1001', 'acknowledged 1001', 'idle']);
  });
});
