import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ReaderRest } from './reader-rest.js';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function resting(answers: number) {
  const rest = new ReaderRest();
  for (let n = 0; n < answers; n++) rest.earn();
  const state = { isOver: false };
  void rest.take().then(() => (state.isOver = true));
  return { rest, state };
}

describe('ReaderRest', () => {
  it('is not taken after a few answers', async () => {
    const { state } = resting(7);
    await vi.advanceTimersByTimeAsync(0);
    expect(state.isOver).toBe(true);
  });

  it('lasts until five milliseconds after the last answer', async () => {
    const { rest, state } = resting(8);
    await vi.advanceTimersByTimeAsync(4);
    rest.earn();
    await vi.advanceTimersByTimeAsync(4);
    expect(state.isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(state.isOver).toBe(true);
  });

  it('ends at once when somebody else has written', async () => {
    const { rest, state } = resting(8);
    rest.stop();
    await vi.advanceTimersByTimeAsync(0);
    expect(state.isOver).toBe(true);
  });

  it('ends after a second, so that a connection is not forgotten', async () => {
    const { rest, state } = resting(8);
    for (let ms = 0; ms < 999; ms++) {
      rest.earn();
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(state.isOver).toBe(false);
    rest.earn();
    await vi.advanceTimersByTimeAsync(1);
    expect(state.isOver).toBe(true);
  });
});
