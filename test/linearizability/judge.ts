import { type Budget, check } from './checker.js';
import { partition } from './history.js';
import { brokenInvariants } from './invariants.js';
import { LOCKS } from './lock-model.js';
import { type Recorded } from './lock-operations.js';
import { type Timing, withPossibleEnds } from './possible-ends.js';
import { describe } from './witness.js';

export interface Judgement {
  /** Everything that is wrong with the history, for a person. */
  readonly problems: readonly string[];
  /** Resources for which the budget was spent before every order was tried; only the invariants were checked there. */
  readonly undecided: readonly string[];
  readonly resources: number;
  /** Of the search, for all resources. */
  readonly steps: number;
}

/** Whether a recorded history of locks can have happened: each resource by the model, each key by the invariants. */
export function judge(history: readonly Recorded[], timing: Timing, budget?: Budget): Judgement {
  const problems = brokenInvariants(history);
  const undecided: string[] = [];
  let steps = 0;
  const resources = partition(withPossibleEnds(history, timing), ({ resource }) => resource);
  for (const [resource, operations] of resources) {
    const verdict = check(LOCKS, operations, budget);
    steps += verdict.steps;
    if (verdict.is === 'violated') problems.push(`${resource}: ${describe(verdict)}`);
    if (verdict.is === 'undecided') undecided.push(`${resource}: ${describe(verdict)}`);
  }
  return { problems, undecided, steps, resources: resources.size };
}
