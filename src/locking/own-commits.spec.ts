import { describe, expect, it } from 'vitest';
import { EMPTY_STATE } from '../core/state.js';
import { DEFAULT_POLICY } from '../../test/support/default-policy.js';
import { combine } from './batch.js';
import { OwnCommits } from './own-commits.js';
import { encodeRecord } from './records/encode-record.js';
import { NO_RECORD } from './records/record.js';
import { type Attempt } from './resource-slot.js';

function attempt(commitId: string, revision: number): Attempt & { head: string } {
  const acquire = { kind: 'acquire', type: 'pull', asker: { nodeId: 'n' } } as const;
  const batch = combine(EMPTY_STATE, [acquire], 0, DEFAULT_POLICY);
  const { writes, head, spilled } = encodeRecord('r', NO_RECORD, batch.state, {
    commitId,
    events: batch.events,
    othersRead: true,
  });
  const made = {
    commitId,
    partition: 0,
    writes,
    batch,
    spilled,
    baseRevision: 0,
    listings: 1,
    isDoubtful: false,
  };
  return { ...made, head: head!.toString(), revision, isShown: false };
}

describe('commits of this instance that the feed has not shown', () => {
  it('are known again by what they wrote, once', () => {
    const own = new OwnCommits();
    const [first, second] = [attempt('i.1', 7), attempt('i.2', 8)];
    own.landed(first);
    own.landed(second);
    expect(own.shown(second.head, 8)).toBe(second);
    expect(own.shown(first.head, 7)).toBe(first);
    expect(own.shown(first.head, 7)).toBeUndefined();
  });

  it('are not taken for those of others', () => {
    const own = new OwnCommits();
    own.landed(attempt('i.1', 7));
    expect(own.shown(attempt('j.1', 8).head, 8)).toBeUndefined();
  });

  it('are not known at another revision: the store has given that to something else', () => {
    const own = new OwnCommits();
    const one = attempt('i.1', 7);
    own.landed(one);
    expect(own.shown(one.head, 9)).toBeUndefined();
  });

  it('are not crowded out by those that the feed has shown or that deleted a record', () => {
    const own = new OwnCommits();
    const first = attempt('i.first', 1);
    own.landed(first);
    for (let n = 0; n < 20_000; n++) {
      const one = attempt(`i.${n}`, n + 2);
      own.landed(n % 2 === 0 ? { ...one, isShown: true } : { ...one, head: undefined });
    }
    expect(own.shown(first.head, 1)).toBe(first);
  });

  it('are forgotten when the feed is far behind', () => {
    const own = new OwnCommits();
    const first = attempt('i.first', 1);
    own.landed(first);
    for (let n = 0; n < 10_000; n++) own.landed(attempt(`i.${n}`, n + 2));
    expect(own.shown(first.head, 1)).toBeUndefined();
  });
});
