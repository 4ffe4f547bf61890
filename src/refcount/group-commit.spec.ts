import { describe, expect, it } from 'vitest';
import { gate } from '../../test/refcount/gate.js';
import { settled } from '../../test/support/simulated-clock.js';
import { GroupCommit } from './group-commit.js';

describe('GroupCommit', () => {
  it('combines what arrives during a commit into the next', async () => {
    const first = gate();
    const commits: (readonly string[])[] = [];
    const group = new GroupCommit<string>(async (changes) => {
      commits.push(changes);
      if (commits.length === 1) await first.passed;
    });
    const a = group.add('a');
    await settled();
    const rest = [group.add('b'), group.add('c')];
    first.open();
    await Promise.all([a, ...rest]);
    expect(commits).toEqual([['a'], ['b', 'c']]);
  });

  it('combines what is added in one go', async () => {
    const commits: (readonly string[])[] = [];
    const group = new GroupCommit<string>(async (changes) => void commits.push(changes));
    await Promise.all([group.add('a'), group.add('b')]);
    expect(commits).toEqual([['a', 'b']]);
  });

  it('settles a change with its own commit, not an earlier or later one', async () => {
    const gates = [gate(), gate()];
    let begun = 0;
    const group = new GroupCommit<string>(async () => gates[begun++]?.passed);
    const done: string[] = [];
    const a = group.add('a').then(() => done.push('a'));
    await settled();
    const b = group.add('b').then(() => done.push('b'));
    gates[0]?.open();
    await a;
    expect(done).toEqual(['a']);
    gates[1]?.open();
    await b;
    expect(done).toEqual(['a', 'b']);
  });

  it('tells a failure to everyone in that commit and to nobody in the next', async () => {
    const first = gate();
    let begun = 0;
    const group = new GroupCommit<string>(async () => {
      if (++begun === 1) await first.passed.then(() => Promise.reject(new Error('full')));
    });
    const failed = [group.add('a'), group.add('b')].map((change) => expect(change).rejects.toThrow('full'));
    await settled();
    const next = group.add('c');
    first.open();
    await Promise.all(failed);
    await expect(next).resolves.toBeUndefined();
    expect(begun).toBe(2);
  });

  it('is idle once everything added has settled, even by failing', async () => {
    const group = new GroupCommit<string>(async () => {
      throw new Error('full');
    });
    let failed = false;
    group.add('a').catch(() => (failed = true));
    await group.idle();
    expect(failed).toBe(true);
  });
});
