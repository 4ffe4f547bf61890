import { type Budget, check } from './checker.js';
import { partition } from './history.js';
import { brokenInvariants } from './invariants.js';
import { LOCKS } from './lock-model.js';
import { type Recorded } from './lock-operations.js';
import { type Timing, withPossibleEnds } from './possible-ends.js';
import { describe } from './witness.js';

export interface Judgement {
  /** Everything that is wrong with the history, or could not be decided, for a person. */
  readonly problems: readonly string[];
  /** Of the search, for all resources. */
  readonly steps: number;
}

/** Whether a recorded history of locks can have happened: each resource by the model, each key by the invariants. */
export function judge(history: readonly Recorded[], timing: Timing, budget?: Budget): Judgement {
  const problems = brokenInvariants(history);
  let steps = 0;
  const resources = partition(withPossibleEnds(history, timing), ({ resource }) => resource);
  for (const [resource, operations] of resources) {
    const verdict = check(LOCKS, operations, budget);
    steps += verdict.steps;
    if (verdict.is !== 'linearizable') problems.push(`${resource}: ${describe(verdict)}`);
  }
  return { problems, steps };
}
