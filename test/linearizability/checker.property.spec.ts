import { expect, it } from 'vitest';
import { type Random, seeded } from '../support/random.js';
import { isLinearizable } from './brute-force.js';
import { check } from './checker.js';
import { type Operation } from './history.js';
import { REGISTER, type RegisterInput, type RegisterOutput } from './register-model.js';

const RUNS = Number(process.env['CHECKER_RUNS'] ?? 3000);

it('says of small random histories what the definition says', () => {
  const seed = Number(process.env['CHECKER_SEED'] ?? Date.now() % 2 ** 31);
  const random = seeded(seed);
  const counts = { linearizable: 0, violated: 0, undecided: 0 };
  for (let run = 0; run < RUNS; run++) {
    const history = Array.from({ length: 1 + Math.floor(random() * 6) }, () => anyOperation(random));
    const { is } = check(REGISTER, history);
    const expected = isLinearizable(REGISTER, history) ? 'linearizable' : 'violated';
    expect(is, `CHECKER_SEED=${seed} ${JSON.stringify(history)}`).toBe(expected);
    counts[is]++;
  }
  expect(Math.min(counts.linearizable, counts.violated)).toBeGreaterThan(RUNS / 10);
});

function anyOperation(random: Random): Operation<RegisterInput, RegisterOutput> {
  const value = Math.floor(random() * 3);
  const writes = random() < 0.5;
  const call = Math.floor(random() * 12);
  const end = call + Math.floor(random() * 6);
  const input = writes ? { write: value } : ('read' as const);
  const asked = { client: 'c', call, input };
  const fate = random();
  if (fate < 0.15) return asked;
  if (fate < 0.3) return { ...asked, return: end };
  return { ...asked, return: end, output: writes ? 'written' : value };
}
