import { describe, expect, it } from 'vitest';
import { bytesLeftByEach } from '../../test/support/young-garbage.js';
import { type KeyTurn, KeyTurns } from './key-turn.js';

const never = new AbortController().signal;

describe('turns', () => {
  it('are had by one call of a key at a time, in the order of coming', async () => {
    const turns = new KeyTurns();
    const first = turns.take('a')!;
    expect(turns.take('a')).toBeUndefined();
    expect(turns.take('b')).toBeDefined();
    const order: number[] = [];
    const later = [1, 2].map(async (n) => {
      const turn = await turns.whenFree('a', never);
      order.push(n);
      turns.leave(turn!);
    });
    turns.leave(first);
    turns.leave(first);
    await Promise.all(later);
    expect(order).toEqual([1, 2]);
    expect(turns.take('a')).toBeDefined();
  });

  it('pass over those who have left', async () => {
    const turns = new KeyTurns();
    const first = turns.take('a')!;
    const end = new AbortController();
    const [left, next] = [turns.whenFree('a', end.signal), turns.whenFree('a', never)];
    end.abort();
    expect(await left).toBeUndefined();
    turns.leave(first);
    expect(await next).toBeDefined();
  });

  it('leave nothing behind that only a collection of everything would find', () => {
    const turns = new KeyTurns();
    const some: KeyTurn[] = [];
    const left = bytesLeftByEach((n) => {
      if (some.push(turns.take(`sha256:${n}`)!) > 16) turns.leave(some.shift()!);
    });
    expect(left).toBeLessThan(60);
    expect([...turns.names()]).toHaveLength(16);
    expect(turns.take(some[0]!.name)).toBeUndefined();
  });

  it('hear what was told since the question was sent, though before they listened', async () => {
    const turn = new KeyTurns().take('a')!;
    turn.listen();
    turn.tell('woken');
    turn.tell('unheard');
    expect(await turn.heard(never)).toBe('woken');
    turn.listen();
    const next = turn.heard(never);
    turn.tell('unheard');
    expect(await next).toBe('unheard');
  });
});
