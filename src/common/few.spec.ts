import { expect, it } from 'vitest';
import { Few } from './few.js';

it('says what a map says, with any number of entries', () => {
  const few = new Few<string, number>();
  const map = new Map<string, number>();
  const steps: (readonly [string, number?])[] = [
    ['a'],
    ['a', 1],
    ['b'],
    ['a', 2],
    ['a'],
    ['b', 3],
    ['a', 4],
    ['c', 5],
    ['b', 6],
    ['x'],
    ['b'],
    ['a'],
    ['c'],
    ['b', 7],
    ['a', 8],
  ];
  for (const [key, value] of steps) {
    for (const one of [few, map]) {
      if (value === undefined) one.delete(key);
      else one.set(key, value);
    }
    expect(few.size).toBe(map.size);
    expect([...few.entries()]).toEqual([...map]);
    for (const name of ['a', 'b', 'c']) expect(few.get(name), name).toBe(map.get(name));
  }
});
