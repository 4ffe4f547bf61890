import { expect, it } from 'vitest';
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

it('keeps nothing of a resource without keys', () => {
  const map = new KeyMap<number>();
  map.set('pull', 'a', 1);
  map.set('pull', 'b', 2);
  map.delete('pull', 'a');
  map.set('pull', 'a', 3);
  expect([...map.values()], 'a came anew').toEqual([2, 3]);
});
