import { type Verdict } from './checker.js';
import { type Operation } from './history.js';

/** Enough to see how it came to the state. */
const SHOWN = 12;

/** A verdict for a person. */
export function describe<S, I, O>(verdict: Verdict<S, I, O>): string {
  if (verdict.is === 'linearizable') return `linearizable, found in ${verdict.steps} steps`;
  const { prefix, misfit, open, state, steps } = verdict;
  const hidden = Math.max(0, prefix.length - SHOWN);
  return [
    verdict.is === 'violated'
      ? `not linearizable (every order was tried, ${steps} steps)`
      : `undecided: the budget was spent after ${steps} steps`,
    `an order that explains the beginning${hidden > 0 ? `, after ${hidden} others` : ''}:`,
    ...prefix.slice(hidden).map(line),
    `leads to ${JSON.stringify(state)}`,
    verdict.is === 'violated'
      ? 'where this does not fit, before or after what was under way:'
      : 'looking for a place for:',
    line(misfit),
    ...(open.length > 0 ? ['under way:', ...open.map(line)] : []),
  ].join('\n');
}

function line<I, O>({ client, call, return: returned, input, output }: Operation<I, O>): string {
  const answer = output === undefined ? 'unknown' : JSON.stringify(output);
  return `  [${time(call)}, ${time(returned)}] ${client}: ${JSON.stringify(input)} -> ${answer}`;
}

function time(ms: number | undefined): string {
  return ms === undefined ? '…' : String(Math.round(ms * 1000) / 1000);
}
