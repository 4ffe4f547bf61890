import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { endlessWaits } from '../../linearizability/invariants.js';
import { judge } from '../../linearizability/judge.js';
import { ENGINES, type EngineName } from './engines.js';
import { Storm, TIMING } from './storm.js';

const LEAST = { operations: 5000, handOvers: 100, brokenMs: 60_000 };

/** `npm run soak` asks for more than one. */
const MINUTES = Number(process.env['STORM_MINUTES'] ?? 0);
const SEED = Number(process.env['STORM_SEED'] ?? Date.now() % 2 ** 31);
const REPORTS = process.env['STORM_MINUTES'] !== undefined;

/** A few seconds of search in one resource. */
const BUDGET = { steps: 200_000 };

/** Where more requests than usual met with no answer on one resource, there are too many orders to try. */
const LARGEST_UNDECIDED_PART = 0.02;

/** A minute and a half where nothing else runs; on a machine with fifteen times the work it can do, six times that. */
const LONGEST_STORM_MS = 900_000;

export function stormOn(name: EngineName): void {
  it(
    `${name} under three instances is one lock per key, whatever is killed, stopped or cut off`,
    { timeout: LONGEST_STORM_MS + MINUTES * 60_000 },
    async () => {
      const end = performance.now() + MINUTES * 60_000;
      let seed = SEED;
      do await storm(name, seed++);
      while (performance.now() < end);
    },
  );
}

async function storm(name: EngineName, seed: number): Promise<void> {
  const engine = await ENGINES[name]();
  onTestFinished(() => engine.destroy());
  const report = (line: string) => REPORTS && console.log(`storm on ${name}, seed ${seed}: ${line}`);
  const storm = await Storm.over(engine, { seed, least: LEAST, report });
  onTestFinished(() => storm.end());
  const finished = await storm.run();

  const { recorder, tally, instances, faults } = storm;
  const dump = join(tmpdir(), `holdfast-storm-${name}-${seed}.jsonl`);
  recorder.dump(dump);
  const since = performance.now();
  const { problems, undecided, steps, resources } = judge(recorder.history, TIMING, BUDGET);
  const judgedMs = performance.now() - since;
  const ended = instances.filter(({ server }) => !server.isRunning).map(({ server }) => server.output);
  const wrong = [...problems, ...(finished ? [] : endlessWaits(recorder.history)), ...ended];
  const summary = `seed ${seed}, ${tally.toString()}, judged in ${judgedMs.toFixed(0)} ms (${resources} resources, ${undecided.length} undecided, ${steps} steps)`;
  console.log(`storm on ${name}: ${summary}`);
  const told = [`STORM_SEED=${seed}, history in ${dump}`, ...faults.map(({ what }) => what)].join('\n');
  expect(wrong, told).toEqual([]);
  expect(finished, told).toBe(true);
  expect(undecided.length / resources, told).toBeLessThanOrEqual(LARGEST_UNDECIDED_PART);
  expect(tally.operations).toBeGreaterThanOrEqual(LEAST.operations);
  expect(tally.handOvers).toBeGreaterThanOrEqual(LEAST.handOvers);
  expect(tally.brokenMs).toBeGreaterThanOrEqual(LEAST.brokenMs);
  rmSync(dump);
  await storm.end();
  await engine.destroy();
}
