import { expect, it, onTestFinished } from 'vitest';
import { SystemClock } from '../../src/common/system-clock.js';
import { MemoryStateStore } from '../../src/stores/memory/memory-state-store.js';
import { type Judgement, judge } from '../linearizability/judge.js';
import { LockClient } from '../linearizability/lock-client.js';
import { DEFAULT_TIMING } from '../linearizability/possible-ends.js';
import { Recorder } from '../linearizability/recorder.js';
import { CarelessStore } from '../support/careless-store.js';
import { seeded } from '../support/random.js';
import { TestServer } from '../support/server-bootstrap.js';

const OPERATIONS = 1000;
const CLIENTS = 8;
const TIMING = { ...DEFAULT_TIMING, claimTimeoutMs: 600_000 };

const seed = Number(process.env['LINEARIZABLE_SEED'] ?? Date.now() % 2 ** 31);

/** Two servers over one store, and what their clients saw. */
async function judged(compares: boolean): Promise<Judgement> {
  const random = seeded(seed);
  const recorder = new Recorder(seed);
  onTestFinished(() => recorder.close());
  const shared = new MemoryStateStore(new SystemClock());
  const start = () =>
    TestServer.with({ claimTimeoutMs: TIMING.claimTimeoutMs })
      .over(new CarelessStore(shared, random, compares))
      .start();
  const urls = [await start(), await start()].map(({ url }) => url);
  const around = { recorder, random, urls, resources: ['one', 'two'], types: ['build', 'pull'] };
  const clients = Array.from({ length: CLIENTS }, (_, i) => new LockClient(around, `node-${i}`, false));
  await Promise.all(clients.map((client) => client.work(() => recorder.answered >= OPERATIONS)));
  return judge(recorder.history, TIMING);
}

it('accepts what two servers over one store do', async () => {
  const { problems } = await judged(true);
  expect(problems, `LINEARIZABLE_SEED=${seed}`).toEqual([]);
});

it('catches two servers whose store does not compare before it sets', async () => {
  const { problems } = await judged(false);
  const violations = problems.filter((problem) => problem.includes('not linearizable'));
  expect(violations.length, `LINEARIZABLE_SEED=${seed}`).toBeGreaterThan(0);
});
