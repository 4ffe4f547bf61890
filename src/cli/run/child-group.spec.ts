import { expect, it } from 'vitest';
import { ChildGroup } from './child-group.js';

it.each([
  ['/etc/passwd/nothing', 126],
  ['a\0b', 126],
  ['/nowhere/to/be/found', 127],
])('%j, which cannot be started, ends with %i', async (file, exitCode) => {
  const child = new ChildGroup([file], {}, 2);
  expect(await child.ended).toMatchObject({ exitCode, error: expect.stringContaining(file) });
  expect(child.pid).toBeUndefined();
  await child.stop(0);
});
