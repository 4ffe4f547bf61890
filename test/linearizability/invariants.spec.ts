import { describe, expect, it } from 'vitest';
import { brokenInvariants, endlessWaits } from './invariants.js';
import { type Recorded } from './lock-operations.js';
import { granted, queued, refused, released, skip, Story } from './story.js';

function broken({ history }: Story): string[] {
  return brokenInvariants(history);
}

describe('tokens', () => {
  it('are in order when they follow time', () => {
    const story = new Story()
      .lock('a', granted(1))
      .unlock('a', 'success', released(), { token: 1 })
      .lock('b', granted(2))
      .unlock('b', 'failure', released(), { token: 2 });
    expect(broken(story)).toEqual([]);
  });

  it('are not told after a larger one', () => {
    expect(broken(new Story().lock('a', granted(2)).lock('b', granted(1)))).toEqual([
      'build:r: b was told 1 after a 2',
    ]);
  });

  it('may come in any order to those who ask together', () => {
    const together = { call: 0, return: 9 };
    expect(broken(new Story().lock('a', granted(2), together).lock('b', granted(1), together))).toEqual([]);
  });

  it('belong to one node', () => {
    const story = new Story().lock('a', granted(1), { call: 0, return: 9 });
    expect(broken(story.lock('b', granted(1), { call: 0, return: 9 }))).toEqual([
      'build:r: token 1 was given to a and b',
    ]);
  });
});

it('nobody holds a key while another does', () => {
  const story = new Story()
    .lock('a', granted(1))
    .lock('b', granted(2))
    .lock('a', granted(1))
    .lock('b', granted(2));
  expect(broken(story)).toContain('build:r: b (2) and a (1) held it at once');
});

describe('a success', () => {
  const lost = (...times: number[]) => {
    const story = new Story().lock('a', granted(1));
    for (const call of times) story.unlock('a', 'success', released(), { token: 1, call });
    return story.lock('b', granted(2), { call: 30 });
  };

  it('is not taken from who has lost the hold', () => {
    expect(broken(lost(50))).toEqual(['build:r: a success of 1 was taken after b had 2']);
  });

  it('may be acknowledged again', () => {
    expect(broken(lost(20, 50))).toEqual([]);
  });
});

describe('tickets', () => {
  it('follow time', () => {
    const story = new Story().lock('a', granted(1)).lock('b', queued('3.0')).lock('c', queued('2.0', 2));
    expect(broken(story)).toEqual(['build:r: ticket 3.0 was told before 2.0 was asked for']);
  });

  it('may be older than the ask that is told them', () => {
    const story = new Story()
      .lock('a', granted(1))
      .lock('b')
      .lock('c', queued('3.0', 2))
      .lock('b', queued('2.0'));
    expect(broken(story)).toEqual([]);
  });
});

describe('a wait', () => {
  it('has an end', () => {
    const waiting = () => new Story().lock('a', granted(1)).lock('b', queued('2.0'));
    expect(endlessWaits(waiting().history)).toEqual(['b build:r waits for ever']);
    expect(endlessWaits(waiting().lock('b', skip()).history)).toEqual([]);
    expect(endlessWaits(waiting().lock('b', refused('OPERATION_FAILED')).history)).toEqual([]);
    expect(endlessWaits(waiting().status('b', { acquired: true }).history)).toEqual([]);
    expect(endlessWaits(waiting().status('b', { position: 1 }).history)).toHaveLength(1);
  });
});

it('nothing is granted to a session after its end was acknowledged', () => {
  const end: Recorded = {
    client: 'a',
    call: 0,
    return: 1,
    input: { do: 'end-session', node: 'a', session: 's' },
    output: { is: 'ended' },
  };
  const after = new Story().lock('a', granted(1), { session: 's', call: 5 }).history;
  expect(brokenInvariants([end, ...after])).toEqual(['a/s was acquired after its session ended']);
  const during = new Story().lock('a', granted(1), { session: 's', call: 0 }).history;
  expect(brokenInvariants([end, ...during])).toEqual([]);
});

describe('a session', () => {
  const of = (what: 'renew-session' | 'end-session', call: number, output: Recorded['output']): Recorded => ({
    client: 'a',
    call,
    return: call + 1,
    input: { do: what, node: 'a', session: 's' },
    output,
  });
  const opened: Recorded = {
    client: 'a',
    call: 0,
    return: 50,
    input: { do: 'open-session', node: 'a', ttlMs: 1000 },
    output: { is: 'session', session: 's' },
  };
  const gone = refused('SESSION_NOT_FOUND') as Recorded['output'];

  it('is kept for its time from when the last answered renewal was sent', () => {
    expect(brokenInvariants([opened, of('renew-session', 900, gone)])).toEqual([
      'session s was lost 99 ms before its time',
    ]);
    expect(brokenInvariants([opened, of('renew-session', 1000, gone)])).toEqual([]);
    const renewed = of('renew-session', 900, { is: 'session', session: 's' });
    expect(brokenInvariants([opened, renewed, of('renew-session', 1800, gone)])).toHaveLength(1);
  });

  it('may be gone as soon as its end was asked for', () => {
    const asked = of('end-session', 100, undefined);
    expect(brokenInvariants([opened, asked, of('renew-session', 200, gone)])).toEqual([]);
  });

  it('ends its waits', () => {
    const waiting = new Story().lock('a', granted(1)).lock('b', queued('2.0'), { session: 's' }).history;
    expect(endlessWaits(waiting)).toHaveLength(1);
    expect(endlessWaits([...waiting, of('renew-session', 900, gone)])).toEqual([]);
  });
});
