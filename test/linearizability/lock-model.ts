import { type Model } from './history.js';
import { answer } from './lock-answers.js';
import {
  askerOf,
  compareTickets,
  type LockInput,
  type LockOperation,
  type LockOutput,
} from './lock-operations.js';
import { type Fresh } from './lock-rules.js';
import { EMPTY, type KeyState, keyOf, type LockState, newerTicket, stateKey, withKey } from './lock-state.js';

/**
 * One resource as it must look over the wire, when its operations happen one after the other: operation isolation, default
 * policies, histories shorter than `COMPLETION_TTL_MS`, no long polls. It shares no code with the server.
 *
 * Exact: who holds each key and by which token, the queue and everybody's place in it, who is handed the lock, which outcome
 * everyone who waited is told and that it is told once, the releases that are said again, references and their count.
 * So no acknowledged grant, wait, success, failure or reference may be lost, no key have two holders, no skip come without a
 * success newer than the ask, an untold dismissal or a reference.
 *
 * Not known from outside, and learnt when first told: the token of a hold that was handed over or whose grant was not answered,
 * the ticket of a wait whose answer was lost. Known tokens of a resource grow, an untold one lies between its
 * neighbours, tickets grow per key.
 *
 * Left to `invariants.ts`: tokens of one key against real time, tickets against tokens, that every waiter ends (nothing
 * that stops is out of order), and that nothing is granted to a session after its end was acknowledged.
 */
export const LOCKS: Model<LockState, LockInput, LockOutput> = {
  initial: EMPTY,
  step(state, operation) {
    const { input, output } = operation;
    if (output?.is === 'refused' && output.code === 'SESSION_NOT_FOUND') {
      return 'doubtful' in input ? [state] : [];
    }
    return learnt(state, operation)
      .map((known) => answer(known, input, freshOf(known, operation)))
      .filter((answered) => output === undefined || says(answered.output, output))
      .map((answered) => answered.state);
  },
  key: stateKey,
};

/** What was told is new only if it is: a number that was given before is not given again. */
function freshOf(state: LockState, { input, output }: LockOperation): Fresh {
  if (output?.is === 'acquired') {
    return output.token !== undefined && output.token > state.newestToken ? { token: output.token } : {};
  }
  if (output?.is !== 'queued' || output.ticket === undefined || !('type' in input)) return {};
  const { newestTicket } = keyOf(state, input.type);
  const isNew = newestTicket === undefined || compareTickets(output.ticket, newestTicket) > 0;
  return isNew ? { ticket: output.ticket } : {};
}

function says(expected: LockOutput, observed: LockOutput): boolean {
  return JSON.stringify(expected, sorted(expected)) === JSON.stringify(observed, sorted(expected));
}

function sorted(output: LockOutput): string[] | undefined {
  return output.is === 'references' ? undefined : Object.keys(output).sort();
}

/** The state itself, and what it is if the numbers told or named here are those that were not known. */
function learnt(state: LockState, { input, output }: LockOperation): LockState[] {
  if (!('type' in input)) return [state];
  const key = keyOf(state, input.type);
  const told = output && 'token' in output ? output.token : undefined;
  const named = 'token' in input ? input.token : undefined;
  const token = told ?? named;
  const states = [state];
  if (token !== undefined) states.push(...withToken(state, key, token));
  if (output?.is === 'queued' && output.ticket !== undefined) {
    states.push(...withTicket(state, key, askerOf(input), output.ticket));
  }
  return states;
}

function withToken(state: LockState, key: KeyState, token: number): LockState[] {
  const { hold, last } = key;
  const states: LockState[] = [];
  if (hold && hold.token === undefined && token > hold.above && token < hold.below) {
    const newestToken = Math.max(state.newestToken, token);
    states.push({ ...withKey(state, { ...key, hold: { ...hold, token } }), newestToken });
  }
  if (last && last.token === undefined) {
    states.push(withKey(state, { ...key, last: { ...last, token } }));
  }
  return states;
}

function withTicket(state: LockState, key: KeyState, asker: string, ticket: string): LockState[] {
  const place = key.queue.findIndex((waiter) => waiter.asker === asker);
  const waiter = key.queue[place];
  if (!waiter || waiter.ticket !== undefined) return [];
  const inOrder = key.queue.every(
    (other, index) =>
      other.ticket === undefined || compareTickets(other.ticket, ticket) < 0 === index < place,
  );
  if (!inOrder) return [];
  const queue = key.queue.with(place, { ...waiter, ticket });
  return [withKey(state, { ...key, queue, newestTicket: newerTicket(key.newestTicket, ticket) })];
}
