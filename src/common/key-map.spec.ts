import { expect, it } from 'vitest';
import { bytesLeftByEach } from '../../test/support/young-garbage.js';
import { KeyMap } from './key-map.js';

it('tells the types of a resource, and the resources of a type, apart', () => {
  const map = new KeyMap<number>();
  map.set('pull', 'a', 1);
  map.set('update', 'a', 2);
  map.set('pull', 'b', 3);
  map.delete('pull', 'a');
  map.delete('delete', 'b');
  map.delete('pull', 'c');
  expect(map.get('pull', 'a')).toBeUndefined();
  expect(map.get('update', 'a')).toBe(2);
  expect(map.get('pull', 'b')).toBe(3);
  expect([...map.values()]).toEqual([2, 3]);
  map.clear();
  expect([...map.values()]).toEqual([]);
});

it('keeps the place of a resource whose keys are gone', () => {
  const map = new KeyMap<number>();
  map.set('pull', 'a', 1);
  map.set('pull', 'b', 2);
  map.delete('pull', 'a');
  map.delete('pull', 'a');
  expect([...map.values()]).toEqual([2]);
  map.set('update', 'a', 3);
  expect([...map.values()]).toEqual([3, 2]);
  expect(map.size).toBe(2);
});

it('keeps no more places for nothing than for something, beyond a thousand', () => {
  const map = new KeyMap<number>();
  for (let n = 0; n < 100_000; n++) {
    map.set('pull', `r${n}`, n);
    if (n % 100 > 0) map.delete('pull', `r${n}`);
  }
  expect(Array.from(map.values())).toEqual(Array.from({ length: 1000 }, (_, n) => 100 * n));
  expect(map.size).toBeLessThan(3000);
});

it('loses nothing of resources that come and go, and come again', () => {
  const map = new KeyMap<number>();
  const model = new Map<string, number>();
  for (let n = 0; n < 50_000; n++) {
    const resourceId = `r${(n * 7919) % 5000}`;
    if (n % 3 === 0) {
      map.set('pull', resourceId, n);
      model.set(resourceId, n);
    } else {
      map.delete('pull', resourceId);
      model.delete(resourceId);
    }
    expect(map.get('pull', resourceId)).toBe(model.get(resourceId));
  }
  expect(Array.from(map.values()).toSorted((a, b) => a - b)).toEqual(
    Array.from(model.values()).toSorted((a, b) => a - b),
  );
});

it.each([
  ['the same', (n: number) => n % 16],
  ['always others', (n: number) => n],
])('leaves nothing behind that only a collection of everything would find: %s', (_, number) => {
  const map = new KeyMap<number[]>();
  const left = bytesLeftByEach((n) => {
    map.set(
      'pull',
      `r${number(n)}`,
      Array.from({ length: 16 }, () => n),
    );
    map.delete('pull', `r${number(n - 8)}`);
  });
  expect(left).toBeLessThan(60);
});

it('leaves nothing behind of several types of a resource that come and go', () => {
  const map = new KeyMap<number[]>();
  const left = bytesLeftByEach((n) => {
    for (const type of ['pull', 'update'])
      map.set(
        type,
        'r',
        Array.from({ length: 16 }, () => n),
      );
    for (const type of ['pull', 'update']) map.delete(type, 'r');
  });
  expect(left).toBeLessThan(60);
});
