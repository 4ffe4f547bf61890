import { describe as group, expect, it } from 'vitest';
import { pick, type Random, seeded } from '../support/random.js';
import { isLinearizable } from './brute-force.js';
import { check } from './checker.js';
import { LOCKS } from './lock-model.js';
import { type LockOperation } from './lock-operations.js';
import { mutate, MUTATIONS } from './mutations.js';
import { randomHistory } from './random-locks.js';
import { describe } from './witness.js';

const RUNS = Number(process.env['CHECKER_RUNS'] ?? 300);
const TYPES = [['build'], ['pull', 'delete'], ['pull', 'update', 'delete']];

function random(): { random: Random; told: string } {
  const seed = Number(process.env['CHECKER_SEED'] ?? Date.now() % 2 ** 31);
  return { random: seeded(seed), told: `CHECKER_SEED=${seed}` };
}

group('histories that happened', () => {
  it('are accepted', () => {
    const { random: seed, told } = random();
    for (let run = 0; run < RUNS; run++) {
      const history = randomHistory(seed, {
        operations: 10 + Math.floor(seed() * 90),
        clients: 1 + Math.floor(seed() * 5),
        unknown: pick(seed, [0, 0.05, 0.15]),
        types: pick(seed, TYPES),
      });
      const verdict = check(LOCKS, history);
      expect(verdict.is, `${told} run ${run}: ${describe(verdict)}`).toBe('linearizable');
    }
  });
});

group.each(MUTATIONS)('histories with %s', (mutation) => {
  it('are judged as the definition judges them', () => {
    const { random: seed, told } = random();
    const counts = { linearizable: 0, violated: 0, undecided: 0 };
    for (let run = 0; run < RUNS; run++) {
      const history = mutate(mutation, seed, smallHistory(seed));
      if (!history) continue;
      const expected = isLinearizable(LOCKS, history) ? 'linearizable' : 'violated';
      const verdict = check(LOCKS, history);
      expect(verdict.is, `${told} run ${run}: ${describe(verdict)}`).toBe(expected);
      counts[verdict.is]++;
    }
    expect(counts.violated, JSON.stringify(counts)).toBeGreaterThan(0);
  });
});

function smallHistory(seed: Random): LockOperation[] {
  return randomHistory(seed, { operations: 7, clients: 3, unknown: pick(seed, [0, 0.2]), types: ['build'] });
}
