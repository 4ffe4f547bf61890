import { describe, expect, it } from 'vitest';
import { check } from './checker.js';
import { LOCKS } from './lock-model.js';
import { type LockOutput, type Recorded } from './lock-operations.js';
import { type Timing, withPossibleEnds } from './possible-ends.js';
import { granted, queued, refused } from './story.js';

const TIMING: Timing = { leaseMs: 1000, claimTimeoutMs: 0, waiterTtlMs: 0 };

function lock(node: string, call: number, output: LockOutput | undefined, more: object = {}): Recorded {
  const input = { do: 'lock', resource: 'r', type: 'build', node, ...more } as const;
  return { client: node, call, return: output && call + 1, input, output };
}

function renew(node: string, call: number, token: number): Recorded {
  const input = { do: 'renew', resource: 'r', type: 'build', node } as const;
  return { client: node, call, return: call + 1, input, output: { is: 'renewed', token } };
}

function opened(session: string, call: number, ttlMs: number): Recorded {
  const input = { do: 'open-session', node: 'a', ttlMs } as const;
  return { client: 'a', call, return: call + 1, input, output: { is: 'session', session } };
}

function ofSession(what: 'renew-session' | 'end-session', call: number, answered = true): Recorded {
  const input = { do: what, node: 'a', session: 's' } as const;
  const output =
    what === 'end-session' ? ({ is: 'ended' } as const) : ({ is: 'session', session: 's' } as const);
  return answered ? { client: 'a', call, return: call + 1, input, output } : { client: 'a', call, input };
}

function verdict(history: Recorded[], timing: Partial<Timing> = {}): string {
  return check(LOCKS, withPossibleEnds(history, { ...TIMING, ...timing })).is;
}

describe('a lease', () => {
  it('may run out after its time, not before', () => {
    const taken = (at: number) => verdict([lock('a', 0, granted(1)), lock('b', at, granted(2))]);
    expect([taken(998), taken(1000)]).toEqual(['violated', 'linearizable']);
  });

  it('begins anew with a renewal, and with a repeated ask', () => {
    const kept = (again: Recorded) => verdict([lock('a', 0, granted(1)), again, lock('b', 1400, granted(2))]);
    expect(kept(renew('a', 500, 1))).toBe('violated');
    expect(kept(lock('a', 500, granted(1)))).toBe('violated');
    expect(kept(renew('a', 300, 1))).toBe('linearizable');
  });

  it('is the one that was asked for', () => {
    const history = [lock('a', 0, granted(1), { leaseMs: 50 }), lock('b', 60, granted(2))];
    expect(verdict(history)).toBe('linearizable');
  });
});

describe('a hand-over', () => {
  const handedOver = (at: number) => [
    lock('a', 0, granted(1), { leaseMs: 10 }),
    lock('b', 1, queued('2.0')),
    lock('c', at, granted(4)),
  ];

  it('may pass on if it is not claimed in time', () => {
    expect(verdict(handedOver(52), { claimTimeoutMs: 50 })).toBe('linearizable');
    expect(verdict(handedOver(40), { claimTimeoutMs: 50 })).toBe('violated');
  });
});

describe('a wait', () => {
  it('may be dropped when nothing was heard of it for half its time, but a hold may not', () => {
    const waits = (at: number) =>
      verdict([lock('a', 0, granted(1)), lock('b', 1, queued('2.0')), lock('c', at, queued('3.0'))], {
        waiterTtlMs: 100,
      });
    expect([waits(40), waits(51)]).toEqual(['violated', 'linearizable']);
    expect(verdict([lock('a', 0, granted(1)), lock('b', 200, granted(2))], { waiterTtlMs: 100 })).toBe(
      'violated',
    );
  });
});

describe('a session', () => {
  const mine = { session: 's' };
  const held = [opened('s', 0, 5000), lock('a', 10, granted(1), mine)];

  it('keeps its hold until it is ended', () => {
    expect(verdict([...held, lock('b', 4000, granted(2))])).toBe('violated');
    expect(verdict([...held, ofSession('end-session', 20), lock('b', 30, granted(2))])).toBe('linearizable');
    expect(verdict([...held, ofSession('end-session', 20), lock('b', 30, queued('2.0'))])).toBe('violated');
  });

  it('may or may not have ended when nobody heard of it', () => {
    const doubt = [...held, ofSession('end-session', 20, false)];
    expect(verdict([...doubt, lock('b', 30, granted(2))])).toBe('linearizable');
    expect(verdict([...doubt, lock('b', 30, queued('2.0'))])).toBe('linearizable');
  });

  it('may miss its TTL after the last renewal that was acknowledged', () => {
    expect(verdict([...held, lock('b', 5001, granted(2))])).toBe('linearizable');
    const renewed = [...held, ofSession('renew-session', 3000)];
    expect(verdict([...renewed, lock('b', 5001, granted(2))])).toBe('violated');
    expect(verdict([...renewed, lock('b', 8001, granted(2))])).toBe('linearizable');
  });

  it('is not found only after it may have ended', () => {
    const gone = refused('SESSION_NOT_FOUND');
    expect(verdict([...held, lock('a', 20, gone, mine)])).toBe('violated');
    expect(verdict([...held, ofSession('end-session', 20), lock('a', 30, gone, mine)])).toBe('linearizable');
  });

  it('ends also what was under way when it was ended', () => {
    const late = [opened('s', 0, 5000), lock('a', 10, undefined, mine), ofSession('end-session', 20)];
    const seen = [...late, lock('b', 30, queued('2.0')), lock('b', 40, granted(3))];
    expect(verdict(seen)).toBe('linearizable');
  });
});
