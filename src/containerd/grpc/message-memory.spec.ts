import { expect, it } from 'vitest';
import { MessageMemory } from './message-memory.js';

const MB = 1 << 20;

it('is used again when it was given back, and not before', () => {
  const memory = new MessageMemory();
  const [one, two] = [memory.take(MB), memory.take(1000)];
  expect(two.buffer).not.toBe(one.buffer);
  memory.give(one);
  const three = memory.take(500_000);
  expect(three).toHaveLength(500_000);
  expect(three.buffer).toBe(one.buffer);
  expect(memory.take(10).buffer).not.toBe(one.buffer);
});

it('given back twice is given out once', () => {
  const memory = new MessageMemory();
  const one = memory.take(MB);
  memory.give(one);
  memory.give(one);
  expect(memory.take(1).buffer).not.toBe(memory.take(1).buffer);
});

it('messages that are larger than usual, or from elsewhere, are left alone', () => {
  const memory = new MessageMemory();
  const large = memory.take(16 * MB);
  const foreign = Buffer.alloc(5);
  memory.give(large);
  memory.give(foreign);
  expect(memory.take(5).buffer).not.toBe(large.buffer);
  expect(memory.take(5).buffer).not.toBe(foreign.buffer);
});
