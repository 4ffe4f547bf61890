import { containerdMutants } from './containerd-mutants.mjs';
import { contentMutants } from './content-mutants.mjs';
import { askingMutants } from './core-asking.mjs';
import { buildingBlockMutants } from './core-building-blocks.mjs';
import { endingMutants } from './core-ending.mjs';
import { livenessMutants } from './core-liveness.mjs';
import { openingMutants } from './core-opening.mjs';
import { httpClientMutants } from './http-client-mutants.mjs';
import { instanceMutants } from './instance-mutants.mjs';
import { journalMutants } from './journal-mutants.mjs';
import managerMutants from './manager-mutants.mjs';
import { redisMutants } from './redis-mutants.mjs';
import { waitingMutants } from './waiting-mutants.mjs';

/** What notices a mutant of the core. */
const CORE_TESTS = ['src/core/', 'test/property/core'];

/**
 * Each removes one rule: `name` is the sentence that no longer holds, `find` occurs exactly once in `file` and becomes
 * `replace`, `tests` are vitest filters, tried in this order: one of them must notice.
 */
export const mutants = [
  ...withTests(CORE_TESTS, [
    ...askingMutants,
    ...endingMutants,
    ...livenessMutants,
    ...openingMutants,
    ...buildingBlockMutants,
  ]),
  ...managerMutants,
  ...waitingMutants,
  ...instanceMutants,
  ...contentMutants,
  ...containerdMutants,
  ...journalMutants,
  ...redisMutants,
  ...httpClientMutants,
];

function withTests(tests, group) {
  return group.map((mutant) => ({ tests, ...mutant }));
}
