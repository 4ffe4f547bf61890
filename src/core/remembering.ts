import { type Forget, type Spend } from './commands.js';
import { isLater, type Moment, sameMoment, THIS_COMMIT } from './moment.js';
import { type Noted } from './results.js';
import { type Step } from './step.js';

/** A dismissal is told once. */
export function spend(step: Step, command: Spend): Noted {
  const key = step.key(command.type);
  const dismissal = key.dismissals.find(command.asker);
  if (!dismissal || !sameMoment(dismissal.outcome.moment, command.moment)) {
    return { kind: 'noted', changed: false };
  }
  step.removeDismissal(key, command.asker);
  return { kind: 'noted', changed: true };
}

/** Outcomes, dismissals and releases are remembered for a time, not for ever. */
export function forget(step: Step, { type, upTo }: Forget): Noted {
  if (upTo === THIS_COMMIT) return { kind: 'noted', changed: false };
  const key = step.key(type);
  const limit = { revision: upTo, n: Number.MAX_SAFE_INTEGER };
  const kept = <T extends { moment: Moment }>(memory: T | undefined) =>
    memory && isLater(memory.moment, limit) ? memory : undefined;
  const remembered = {
    ...key,
    success: kept(key.success),
    failure: kept(key.failure),
    lastRelease: kept(key.lastRelease),
    dismissals: key.dismissals.dropWhile(({ outcome }) => !isLater(outcome.moment, limit)),
  };
  const changed =
    remembered.success !== key.success ||
    remembered.failure !== key.failure ||
    remembered.lastRelease !== key.lastRelease ||
    remembered.dismissals !== key.dismissals;
  if (changed) step.putKey(remembered);
  return { kind: 'noted', changed };
}
