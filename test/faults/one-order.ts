import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { expect } from 'vitest';
import { endlessWaits } from '../linearizability/invariants.js';
import { judge } from '../linearizability/judge.js';
import { type LockClient } from '../linearizability/lock-client.js';
import { DEFAULT_TIMING } from '../linearizability/possible-ends.js';
import { type Recorder } from '../linearizability/recorder.js';

/** Nobody leaves without a word in these tests; what that does is tested elsewhere, on simulated time. */
export const TIMING = { ...DEFAULT_TIMING, claimTimeoutMs: 600_000 };

export const RESOURCES = ['one', 'two', 'three'];
export const TYPES = ['build', 'pull', 'update', 'delete'];

/** Everyone is served in fewer, if everyone is served. */
const LAST_ROUNDS = 200;

export function chosenSeed(): number {
  return Number(process.env['LINEARIZABLE_SEED'] ?? Date.now() % 2 ** 31);
}

/** Lets the clients finish, and expects that what they saw has an order in which one lock per key would say the same. */
export async function expectOneOrder(
  recorder: Recorder,
  clients: readonly LockClient[],
  name: string,
): Promise<void> {
  for (let round = 0; round < LAST_ROUNDS; round++) {
    const left = await Promise.all(clients.map((client) => client.leave()));
    if (left.every(Boolean)) break;
  }
  const { history, seed } = recorder;
  const { problems, undecided, steps } = judge(history, TIMING);
  const wrong = [...problems, ...undecided, ...endlessWaits(history)];
  const dump = join(tmpdir(), `holdfast-history-${seed}.jsonl`);
  if (wrong.length > 0) recorder.dump(dump);
  expect(wrong, `LINEARIZABLE_SEED=${seed}, history in ${dump}`).toEqual([]);
  const unknown = history.length - recorder.answered;
  console.log(
    `linearizable ${name}: ${recorder.answered} answered, ${unknown} unknown, ${steps} steps, seed ${seed}`,
  );
}
