import { expect, it, onTestFinished } from 'vitest';
import { SystemClock } from '../../src/common/system-clock.js';
import { MemoryStateStore } from '../../src/stores/memory/memory-state-store.js';
import { type Judgement, judge } from '../linearizability/judge.js';
import { LockClient } from '../linearizability/lock-client.js';
import { DEFAULT_TIMING } from '../linearizability/possible-ends.js';
import { Recorder } from '../linearizability/recorder.js';
import { CarelessStore } from '../support/careless-store.js';
import { compiledWith, type Mistake } from '../support/compiled.js';
import { seeded } from '../support/random.js';
import { TestServer } from '../support/server-bootstrap.js';
import { ServerProcess } from '../support/server-process.js';
import { type EngineName, ENGINES } from './storm/engines.js';

/** What makes the engine compare, taken out. */
const WITHOUT_COMPARE: Readonly<Record<EngineName, Mistake>> = {
  Redis: {
    file: 'src/stores/redis/scripts/commit.lua',
    find: 'else holds = item and find(item, expected, 1, true) == 1 end',
    replace: 'end',
  },
  etcd: {
    file: 'src/stores/etcd/etcd-transaction.ts',
    find: 'compare: writes.map((write) => this.expectationOf(write)),',
    replace: 'compare: [],',
  },
};

const OPERATIONS = 1000;
const CLIENTS = 8;
const TIMING = { ...DEFAULT_TIMING, claimTimeoutMs: 600_000 };

const seed = Number(process.env['LINEARIZABLE_SEED'] ?? Date.now() % 2 ** 31);

/** What clients of these servers saw. */
async function judgedAt(urls: readonly string[]): Promise<Judgement> {
  const random = seeded(seed);
  const recorder = new Recorder(seed);
  onTestFinished(() => recorder.close());
  const around = { recorder, random, urls, resources: ['one', 'two'], types: ['build', 'pull'] };
  const clients = Array.from({ length: CLIENTS }, (_, i) => new LockClient(around, `node-${i}`, false));
  await Promise.all(clients.map((client) => client.persist(() => recorder.answered >= OPERATIONS)));
  return judge(recorder.history, TIMING, { steps: 500_000 });
}

/** Two servers over one store in this process. */
async function judged(compares: boolean): Promise<Judgement> {
  const random = seeded(seed);
  const shared = new MemoryStateStore(new SystemClock());
  const start = () =>
    TestServer.with({ claimTimeoutMs: TIMING.claimTimeoutMs })
      .over(new CarelessStore(shared, random, compares))
      .start();
  return judgedAt([await start(), await start()].map(({ url }) => url));
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

it.for(Object.entries(WITHOUT_COMPARE))(
  'catches a build that does not let %s compare before it sets',
  { timeout: 180_000 },
  async ([name, mistake]) => {
    const engine = await ENGINES[name as EngineName]();
    onTestFinished(() => engine.destroy());
    const program = compiledWith('src/main.ts', mistake);
    const start = async () => {
      const environment = { STORE_URL: engine.urlThrough(engine.ports), CLAIM_TIMEOUT_MS: '600000' };
      const server = await ServerProcess.start(environment, program);
      onTestFinished(() => server.remove());
      return server.url;
    };
    const { problems } = await judgedAt([await start(), await start()]);
    const violations = problems.filter((problem) => problem.includes('not linearizable'));
    expect(violations.length, `LINEARIZABLE_SEED=${seed}`).toBeGreaterThan(0);
  },
);
