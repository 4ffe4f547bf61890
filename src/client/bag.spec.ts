import { describe, expect, it } from 'vitest';
import { bytesLeftByEach } from '../../test/support/young-garbage.js';
import { Bag } from './bag.js';

const things = (count: number) => Array.from({ length: count }, (_, n) => ({ n, place: -1 }));
const inIt = (bag: Bag<{ n: number; place: number }>) => Array.from(bag, ({ n }) => n).sort((a, b) => a - b);

describe('a bag', () => {
  it('has what was added and not taken out', () => {
    const bag = new Bag<{ n: number; place: number }>();
    const all = things(5);
    for (const thing of all) bag.add(thing);
    for (const n of [1, 4, 0]) bag.delete(all[n]!);
    expect(inIt(bag)).toEqual([2, 3]);
    expect(bag.size).toBe(2);
    bag.add(all[4]!);
    expect(inIt(bag)).toEqual([2, 3, 4]);
  });

  it('lets out what is not in it', () => {
    const bag = new Bag<{ n: number; place: number }>();
    const [one, other] = things(2);
    bag.add(one!);
    bag.delete(other!);
    bag.delete(one!);
    bag.delete(one!);
    expect(bag.size).toBe(0);
  });

  it('may be emptied while it is looked through', () => {
    const bag = new Bag<{ n: number; place: number }>();
    for (const thing of things(9)) bag.add(thing);
    const seen: number[] = [];
    for (const thing of bag) {
      seen.push(thing.n);
      bag.delete(thing);
    }
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(bag.size).toBe(0);
  });

  it('leaves nothing behind that only a collection of everything would find', () => {
    const bag = new Bag<{ n: number[]; place: number }>();
    const some: { n: number[]; place: number }[] = [];
    const left = bytesLeftByEach((turn) => {
      const thing = { n: Array.from({ length: 16 }, () => turn), place: -1 };
      bag.add(thing);
      if (some.push(thing) > 16) bag.delete(some.shift()!);
    });
    expect(left).toBeLessThan(60);
  });
});
