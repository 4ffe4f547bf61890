import fc from 'fast-check';
import { type LockPolicy } from '../../src/locking/lock-policy.js';
import { type Intent, intents, LONG_MS, policies } from './managers-commands.js';

/** What happens next. */
export type Step =
  | { readonly do: 'command'; readonly intent: Intent; readonly at: number; readonly lost: boolean }
  | { readonly do: 'deliver'; readonly at: number; readonly commits: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'compact'; readonly at: number }
  | { readonly do: 'restart' };

const at = fc.nat({ max: 1 });
const command = fc.record({
  do: fc.constant('command' as const),
  intent: intents,
  at,
  lost: fc.constantFrom(false, false, false, true),
});
const deliver = fc.record({ do: fc.constant('deliver' as const), at, commits: fc.constantFrom(1, 2, 1000) });
const wait = fc.record({
  do: fc.constant('wait' as const),
  ms: fc.constantFrom(50, 200, 500, 1100, LONG_MS),
});
export const compact = fc.record({ do: fc.constant('compact' as const), at });
export const restart = fc.constant({ do: 'restart' as const });

export function histories(
  ...rare: { arbitrary: fc.Arbitrary<Step>; weight: number }[]
): fc.Arbitrary<History> {
  return fc.record({
    policy: policies,
    seed: fc.integer(),
    steps: fc.array(
      fc.oneof(
        { arbitrary: command, weight: 30 },
        { arbitrary: deliver, weight: 4 },
        { arbitrary: wait, weight: 3 },
        ...rare,
      ),
      { maxLength: 40, size: 'max' },
    ),
  });
}

export interface History {
  readonly policy: LockPolicy;
  readonly seed: number;
  readonly steps: readonly Step[];
}
