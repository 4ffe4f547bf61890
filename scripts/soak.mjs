/**
 * Storms over real engines for as long as wanted, one after the other, each with the next seed.
 *
 *     npm run soak                                            ten minutes over both engines at once
 *     npm run soak -- --minutes 60 --engine etcd --seed 7     an hour over etcd, from this seed on
 *
 * Every fault is told as it happens, and each storm in one line when it has been judged. Ends with 1 when one was not
 * one lock per key; the line says by which seed to repeat it, and where its history is.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { minutes, engine, seed } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    engine: { type: 'string', default: 'both' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
}).values;

const SPECS = { etcd: ['test/faults/storm-etcd.spec.ts'], redis: ['test/faults/storm-redis.spec.ts'] };
SPECS.both = [...SPECS.etcd, ...SPECS.redis];

const specs = SPECS[engine.toLowerCase()];
if (!specs || !(Number(minutes) > 0) || !/^\d{1,10}$/.test(seed)) {
  console.error('usage: npm run soak -- [--minutes 10] [--engine etcd|redis|both] [--seed number]');
  process.exit(2);
}

const vitest = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs');
const child = spawn(
  process.execPath,
  [vitest, 'run', '--disable-console-intercept', '--maxWorkers=2', ...specs],
  {
    cwd: join(import.meta.dirname, '..'),
    stdio: 'inherit',
    env: { ...process.env, STORM_MINUTES: minutes, STORM_SEED: seed },
  },
);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => process.exit(code ?? 1));
