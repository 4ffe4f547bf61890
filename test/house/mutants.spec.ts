import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
// @ts-expect-error plain JavaScript, for the runner
import { mutants } from '../mutants/mutants.mjs';

interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly find: string;
}

it('every mutant still finds the one place it changes', () => {
  const outdated = (mutants as readonly Mutant[]).filter(
    ({ file, find }) => readFileSync(file, 'utf8').split(find).length !== 2,
  );
  expect(outdated.map(({ name }) => name)).toEqual([]);
});
