import { pick, type Random } from '../support/random.js';
import { type LockOperation, type LockOutput } from './lock-operations.js';

export const MUTATIONS = [
  'two tokens swapped',
  'an acknowledged operation that never happened',
  'a grant said to another',
  'an operation moved outside its interval',
  'another answer',
] as const;

export type Mutation = (typeof MUTATIONS)[number];

type History = readonly LockOperation[];

/** The history, changed so that it may not have happened; undefined where there is nothing to change. */
export function mutate(mutation: Mutation, random: Random, history: History): LockOperation[] | undefined {
  switch (mutation) {
    case 'two tokens swapped':
      return swapTokens(random, history);
    case 'an acknowledged operation that never happened':
      return drop(random, history);
    case 'a grant said to another':
      return duplicateGrant(random, history);
    case 'an operation moved outside its interval':
      return move(random, history);
    case 'another answer':
      return answerDifferently(random, history);
  }
}

function swapTokens(random: Random, history: History): LockOperation[] | undefined {
  const granted = history.filter(({ output }) => output?.is === 'acquired');
  const [one, other] = [pick(random, granted), pick(random, granted)];
  if (!one || !other || tokenOf(one) === tokenOf(other)) return undefined;
  return history.map((operation) => {
    if (operation === one) return withToken(one, tokenOf(other));
    return operation === other ? withToken(other, tokenOf(one)) : operation;
  });
}

function drop(random: Random, history: History): LockOperation[] | undefined {
  const dropped = pick(
    random,
    history.filter(({ output }) => output !== undefined),
  );
  return dropped && history.filter((operation) => operation !== dropped);
}

function duplicateGrant(random: Random, history: History): LockOperation[] | undefined {
  const grant = pick(
    random,
    history.filter(({ output }) => output?.is === 'acquired'),
  );
  if (!grant || grant.input.do !== 'lock') return undefined;
  const input = { ...grant.input, node: 'somebody-else', session: undefined };
  return [...history, { ...grant, client: 'somebody-else', input }];
}

function move(random: Random, history: History): LockOperation[] | undefined {
  const moved = pick(
    random,
    history.filter(({ output }) => output !== undefined),
  );
  if (!moved) return undefined;
  const by = (random() < 0.5 ? -1 : 1) * (moved.return! - moved.call + 1 + random() * history.length);
  const elsewhere = { ...moved, call: moved.call + by, return: moved.return! + by };
  return history.map((operation) => (operation === moved ? elsewhere : operation));
}

function answerDifferently(random: Random, history: History): LockOperation[] | undefined {
  const asked = history.filter(({ input, output }) => input.do === 'lock' && output !== undefined);
  const [one, other] = [pick(random, asked), pick(random, asked)];
  if (!one || !other || JSON.stringify(one.output) === JSON.stringify(other.output)) return undefined;
  return history.map((operation) => (operation === one ? { ...one, output: other.output } : operation));
}

function tokenOf({ output }: LockOperation): number | undefined {
  return output?.is === 'acquired' ? output.token : undefined;
}

function withToken(operation: LockOperation, token: number | undefined): LockOperation {
  return { ...operation, output: { ...operation.output, token } as LockOutput };
}
