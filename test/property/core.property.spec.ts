import * as fc from 'fast-check';
import { describe, it } from 'vitest';
import { type Policy } from '../../src/core/policy.js';
import { DEFAULT_POLICY } from '../support/default-policy.js';
import { actions } from './core-actions.js';
import { CoreRun } from './core-run.js';

/** Runs for each of the 128 combinations of policies. */
const RUNS_PER_POLICY = Number(process.env['PROPERTY_RUNS'] ?? 80);

const policies: readonly Policy[] = combinations<Policy>(
  { ...DEFAULT_POLICY, maxQueueLength: 4 },
  {
    allowMultiNodeDownload: [true, false],
    refcountMode: ['server', 'client'],
    updateRequiresNoRef: [false, true],
    lockIsolation: ['operation', 'resource'],
    successPolicy: ['dismiss', 'handover'],
    lanes: [[], ['a', 'b']],
    completedSkipMs: [0, 1000],
  },
);

describe('whatever is asked of a resource, every promise is kept', () => {
  for (const policy of policies) {
    it(`under ${nameOf(policy)}`, () => {
      fc.assert(
        fc.property(actions, (sequence) => new CoreRun(policy).all(sequence)),
        { numRuns: RUNS_PER_POLICY },
      );
    });
  }
});

function combinations<T extends object>(
  base: T,
  choices: { readonly [K in keyof T]?: readonly T[K][] },
): T[] {
  const names = Object.keys(choices) as (keyof T)[];
  return names.reduce<T[]>(
    (chosen, name) =>
      chosen.flatMap((one) => choices[name]!.map((value) => Object.assign({}, one, { [name]: value }))),
    [base],
  );
}

function nameOf(policy: Policy): string {
  return [
    policy.allowMultiNodeDownload ? 'queues' : 'no queues',
    `${policy.refcountMode} counts`,
    policy.updateRequiresNoRef ? 'strict updates' : 'free updates',
    `${policy.lockIsolation} isolation`,
    policy.successPolicy,
    policy.lanes.length > 0 ? 'lanes' : 'no lanes',
    policy.completedSkipMs > 0 ? 'skip after completion' : 'no skip after completion',
  ].join(', ');
}
