import { expect, it } from 'vitest';
import { bytesLeftByEach } from './young-garbage.js';

it('sees what a set leaves that is added to and taken from again and again', () => {
  const set = new Set<object>();
  const some: object[] = [];
  const left = bytesLeftByEach((turn) => {
    const thing = { much: Array.from({ length: 16 }, () => turn) };
    set.add(thing);
    if (some.push(thing) > 16) set.delete(some.shift()!);
  });
  expect(left).toBeGreaterThan(100);
});
