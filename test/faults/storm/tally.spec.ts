import { expect, it } from 'vitest';
import { granted, queued, refused, released, Story } from '../../linearizability/story.js';
import { handOversIn, Tally } from './tally.js';

it('counts as a hand-over that somebody waited, and then had what it waited for', () => {
  const waiting = () => new Story().lock('a', granted(1)).lock('b', queued('2.0'));
  expect(handOversIn(waiting().history)).toBe(0);
  const handed = waiting().unlock('a', 'failure', released('b')).lock('b', granted(3)).lock('b', granted(3));
  expect(handOversIn(handed.history)).toBe(1);
  expect(handOversIn(waiting().status('b', { acquired: true }).history)).toBe(1);
  expect(handOversIn(waiting().lock('b', refused('LOCK_HELD')).lock('b', granted(3)).history)).toBe(0);
});

it('counts as an operation what was answered', () => {
  const { operations, unknown } = new Tally(new Story().lock('a', granted(1)).lock('b').history, [], 0);
  expect({ operations, unknown }).toEqual({ operations: 1, unknown: 1 });
});
