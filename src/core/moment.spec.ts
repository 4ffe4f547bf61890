import { describe, expect, it } from 'vitest';
import { isLater, sameMoment, settleMoment, THIS_COMMIT } from './moment.js';

const at = (revision: number, n: number) => ({ revision, n });

describe('moments', () => {
  it('are ordered by revision, then by number within the commit', () => {
    expect(isLater(at(2, 0), at(1, 9))).toBe(true);
    expect(isLater(at(1, 9), at(2, 0))).toBe(false);
    expect(isLater(at(2, 1), at(2, 0))).toBe(true);
    expect(isLater(at(2, 0), at(2, 0))).toBe(false);
  });

  it('of the commit being built are later than everything committed', () => {
    expect(isLater(at(THIS_COMMIT, 0), at(99, 5))).toBe(true);
    expect(isLater(at(99, 5), at(THIS_COMMIT, 0))).toBe(false);
    expect(isLater(at(THIS_COMMIT, 1), at(THIS_COMMIT, 0))).toBe(true);
  });

  it('are the same only if both parts are', () => {
    expect(sameMoment(at(1, 2), at(1, 2))).toBe(true);
    expect(sameMoment(at(1, 2), at(1, 3))).toBe(false);
    expect(sameMoment(at(1, 2), at(2, 2))).toBe(false);
  });

  it('are settled once', () => {
    expect(settleMoment(at(THIS_COMMIT, 3), 8)).toEqual(at(8, 3));
    expect(settleMoment(at(5, 3), 8)).toEqual(at(5, 3));
  });
});
