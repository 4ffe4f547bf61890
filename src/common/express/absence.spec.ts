import { describe, expect, it } from 'vitest';
import { Absence } from './absence.js';

describe('an absence', () => {
  it('is over when something comes again, and is that for as long as reading what has come may take', () => {
    let now = 10_000;
    const absence = new Absence(() => now);
    const at = (ms: number) => {
      now = ms;
      return absence.isJustOver();
    };
    expect([10_000, 10_300, 10_499].map(at)).toEqual([true, true, true]);
    expect([10_500, 10_900, 11_400].map(at)).toEqual([false, false, false]);
    expect([11_901, 12_400, 12_401].map(at)).toEqual([true, true, false]);
  });
});
