// Goal 6: lock + unlock cycles of `LockClient` with the state in Redis beside redlock on the same Redis, and in etcd beside the lock of
// `etcd3` on the same etcd. Many short rounds alternate, so that a noisy machine is noisy to all alike. A server between client and engine is one
// process more that waits for its turn on a busy machine: processor time, of all processes together, says what the rate then hides.
import { Etcd3 } from 'etcd3';
import { Redis } from 'ioredis';
import Redlock from 'redlock';
import { LockClient } from '../dist/client/index.js';
import { cpuSecondsOf, ENGINES, installEngines } from './engines/engines.mjs';
import { startInstances } from './engines/holdfast.mjs';
import { rate, ratio, table, thousands } from './support.mjs';

const ROUNDS = 15;
const ROUND_MS = 700;
const WARM_UP_MS = 4000;
const AT_A_TIME = [1, 32];
const LOCK_TTL_SECONDS = 10;

/** What each engine's own lock does, and the part of its cycles that is to be reached. */
const PEERS = {
  Redis: { title: 'redlock', goal: 0.5, start: startRedlock },
  etcd: { title: '`etcd3`’s lock', goal: 3, start: startEtcdLock },
};

function startRedlock({ port }) {
  const redis = new Redis(port, '127.0.0.1');
  const redlock = new Redlock([redis]);
  return {
    cycle: async (worker) => (await redlock.lock(`peer-${worker}`, LOCK_TTL_SECONDS * 1000)).unlock(),
    stop: () => redis.disconnect(),
  };
}

function startEtcdLock({ port }) {
  const etcd = new Etcd3({ hosts: `http://127.0.0.1:${port}` });
  return {
    cycle: async (worker) => {
      const lock = etcd.lock(`peer-${worker}`).ttl(LOCK_TTL_SECONDS);
      await lock.acquire();
      await lock.release();
    },
    stop: () => etcd.close(),
  };
}

async function startHoldfast({ url }) {
  const instances = await startInstances(1, { STORE_URL: url });
  const client = new LockClient({ serverUrl: instances.urls[0], nodeId: 'bench' });
  return {
    cycle: async (worker) => {
      const { hold, error } = await client.lock({ type: 'update', resourceId: `sha256:${worker}` });
      if (!hold) throw error ?? new Error('skipped');
      await client.unlock(hold, { success: true });
    },
    serverCpuSeconds: () => cpuSecondsOf(instances.urls[0]),
    stop: async () => {
      await client.close();
      await instances.stop();
    },
  };
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

async function cpuSeconds(engine, { serverCpuSeconds }) {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + (await engine.cpuSeconds()) + ((await serverCpuSeconds?.()) ?? 0);
}

/** Cycles a second, and the processor time of a cycle. */
async function round(engine, contender, workers) {
  const before = await cpuSeconds(engine, contender);
  const begin = performance.now();
  const perSecond = await rate(workers, ROUND_MS, contender.cycle);
  const cycles = (perSecond * (performance.now() - begin)) / 1000;
  return { perSecond, cpuUs: (((await cpuSeconds(engine, contender)) - before) * 1e6) / cycles };
}

/** Rounds of ours and theirs in turn: medians of each, and of the ratios within a round. */
async function compare(engine, [ours, theirs], workers) {
  const rounds = [];
  for (const { cycle } of [ours, theirs]) await rate(workers, WARM_UP_MS, cycle);
  for (let n = 0; n < ROUNDS; n++) {
    rounds.push([await round(engine, ours, workers), await round(engine, theirs, workers)]);
  }
  const middle = (valueOf) => median(rounds.map(valueOf));
  return {
    ours: { perSecond: middle(([own]) => own.perSecond), cpuUs: middle(([own]) => own.cpuUs) },
    theirs: { perSecond: middle(([, peer]) => peer.perSecond), cpuUs: middle(([, peer]) => peer.cpuUs) },
    ratio: middle(([own, peer]) => own.perSecond / peer.perSecond),
  };
}

installEngines();
const rows = [];
for (const startEngine of ENGINES) {
  const engine = await startEngine();
  const peer = PEERS[engine.name];
  const contenders = [await startHoldfast(engine), await peer.start(engine)];
  for (const workers of AT_A_TIME) {
    const { ours, theirs, ratio: ofPeer } = await compare(engine, contenders, workers);
    const goal = workers === 1 ? '–' : ratio(peer.goal);
    const cpu = `${thousands(ours.cpuUs)} / ${thousands(theirs.cpuUs)}`;
    const rates = [thousands(ours.perSecond), peer.title, thousands(theirs.perSecond)];
    rows.push([engine.name, workers, ...rates, ratio(ofPeer), goal, cpu]);
  }
  for (const { stop } of contenders) await stop();
  await engine.destroy();
}
table(
  'Lock + unlock cycles a second on private keys, the state in an outside engine',
  [
    'engine',
    'at a time',
    'LockClient',
    'peer',
    'its cycles',
    'of the peer',
    'goal',
    'processor µs a cycle, ours / theirs',
  ],
  rows,
);
console.log('\nGoal 6: 32 at a time, on Redis ≥ 0.50 of redlock, on etcd ≥ 3.00 of the lock of `etcd3`.');
