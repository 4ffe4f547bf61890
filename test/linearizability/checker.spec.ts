import { describe as group, expect, it } from 'vitest';
import { check, type Verdict } from './checker.js';
import { type Operation } from './history.js';
import { REGISTER, type RegisterInput, type RegisterOutput } from './register-model.js';
import { describe } from './witness.js';

type Op = Operation<RegisterInput, RegisterOutput>;

function write(client: string, call: number, end: number, value: number): Op {
  return { client, call, return: end, input: { write: value }, output: 'written' };
}

function read(client: string, call: number, end: number, value: number): Op {
  return { client, call, return: end, input: 'read', output: value };
}

/** A write of which nothing was heard; with an end, its server was gone then. */
function lost(client: string, call: number, value: number, end?: number): Op {
  return { client, call, return: end, input: { write: value } };
}

function verdict(...history: Op[]): Verdict<number, RegisterInput, RegisterOutput>['is'] {
  return check(REGISTER, history).is;
}

group('a register', () => {
  it('is linearizable when nothing has happened', () => {
    expect(verdict()).toBe('linearizable');
  });

  it('may be read as it was or as it becomes while it is written', () => {
    expect(verdict(write('a', 0, 10, 1), read('b', 1, 2, 0), read('b', 3, 4, 1))).toBe('linearizable');
  });

  it('is not read as it was once it has been read as it becomes', () => {
    expect(verdict(write('a', 0, 10, 1), read('b', 1, 2, 1), read('c', 3, 4, 0))).toBe('violated');
  });

  it('is not read as it was after the write returned', () => {
    expect(verdict(write('a', 0, 1, 1), read('b', 2, 3, 0))).toBe('violated');
  });

  it('takes a call and a return at the same time for overlapping', () => {
    expect(verdict(write('a', 0, 1, 1), read('b', 1, 2, 0))).toBe('linearizable');
  });

  it('orders what overlaps as the answers need it', () => {
    const writes = [write('a', 0, 9, 1), write('b', 0, 9, 2), write('c', 0, 9, 3)];
    expect(verdict(...writes, read('d', 10, 11, 1))).toBe('linearizable');
    expect(verdict(...writes, read('d', 10, 11, 1), read('e', 10, 11, 2))).toBe('violated');
  });
});

group('an unknown outcome', () => {
  it('may have happened', () => {
    expect(verdict(lost('a', 0, 1), read('b', 5, 6, 1))).toBe('linearizable');
  });

  it('may never have happened', () => {
    expect(verdict(lost('a', 0, 1), read('b', 5, 6, 0))).toBe('linearizable');
  });

  it('may happen late, between two reads', () => {
    expect(verdict(lost('a', 0, 1), read('b', 5, 6, 0), read('b', 7, 8, 1))).toBe('linearizable');
  });

  it('happens once', () => {
    const again = [read('b', 5, 6, 1), write('b', 7, 8, 0), read('b', 9, 10, 1)];
    expect(verdict(lost('a', 0, 1), ...again)).toBe('violated');
    expect(verdict(lost('a', 0, 1), lost('c', 0, 1), ...again)).toBe('linearizable');
  });

  it('does not happen before it was asked for', () => {
    expect(verdict(read('b', 0, 1, 1), lost('a', 2, 1))).toBe('violated');
  });

  it('does not happen after its server was gone', () => {
    expect(verdict(lost('a', 0, 1, 3), read('b', 4, 5, 0), read('b', 6, 7, 1))).toBe('violated');
    expect(verdict(lost('a', 0, 1, 3), read('b', 2, 5, 0), read('b', 6, 7, 1))).toBe('linearizable');
  });

  it('does not happen after another that was asked for when its server was gone', () => {
    const [first, second] = [lost('a', 0, 1, 1), lost('a', 2, 2, 3)];
    expect(verdict(first, second, read('b', 0, 10, 2), read('b', 11, 12, 2))).toBe('linearizable');
    expect(verdict(first, second, read('b', 0, 10, 2), read('c', 11, 12, 1))).toBe('violated');
  });
});

group('a witness', () => {
  const bad = [
    write('a', 0, 1, 1),
    read('b', 2, 3, 1),
    write('a', 4, 5, 2),
    read('b', 6, 9, 1),
    write('a', 7, 12, 3),
    read('b', 20, 21, 3),
  ];

  it('is the longest beginning with an order, and what does not fit behind it', () => {
    const found = check(REGISTER, bad);
    expect(found).toMatchObject({ is: 'violated', state: 2, misfit: bad[3], open: [bad[4]] });
    expect(found).toHaveProperty('prefix', bad.slice(0, 3));
  });

  it('can be read', () => {
    expect(describe(check(REGISTER, bad))).toBe(
      [
        'not linearizable (every order was tried, 4 steps)',
        'an order that explains the beginning:',
        '  [0, 1] a: {"write":1} -> "written"',
        '  [2, 3] b: "read" -> 1',
        '  [4, 5] a: {"write":2} -> "written"',
        'leads to 2',
        'where this does not fit, before or after what was under way:',
        '  [6, 9] b: "read" -> 1',
        'under way:',
        '  [7, 12] a: {"write":3} -> "written"',
      ].join('\n'),
    );
  });
});

group('a budget', () => {
  const writes = Array.from({ length: 18 }, (_, i) => write(`w${i}`, 0, 100, i + 1));
  const impossible = [...writes, read('r', 101, 102, 99)];

  it('ends a search undecided instead of never', () => {
    const found = check(REGISTER, impossible, { steps: 1000 });
    expect(found).toMatchObject({ is: 'undecided', steps: 1000 });
    expect(describe(found)).toContain('undecided: the budget was spent after 1000 steps');
    expect(check(REGISTER, impossible, { ms: 0 }).is).toBe('undecided');
  });

  it('is not needed where the same state is not tried twice', () => {
    const twelve = [...writes.slice(0, 12), read('r', 101, 102, 99)];
    expect(check(REGISTER, twelve).is).toBe('violated');
  });
});

it('refuses an answer without a return', () => {
  const odd: Op = { client: 'a', call: 0, input: 'read', output: 0 };
  expect(() => check(REGISTER, [odd])).toThrow('returns after its call');
});
