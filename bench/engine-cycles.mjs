// Goal 6: lock + unlock cycles of `LockClient` with the state in Redis beside redlock on the same Redis, and in etcd beside the lock of
// `etcd3` on the same etcd. Rounds alternate, so that a noisy machine is noisy to all alike.
import { Etcd3 } from 'etcd3';
import { Redis } from 'ioredis';
import Redlock from 'redlock';
import { LockClient } from '../dist/client/index.js';
import { ENGINES, installEngines } from './engines/engines.mjs';
import { startInstances } from './engines/holdfast.mjs';
import { rate, ratio, table, thousands } from './support.mjs';

const ROUNDS = 5;
const ROUND_MS = 2000;
const WARM_UP_MS = 3000;
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
    stop: async () => {
      await client.close();
      await instances.stop();
    },
  };
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

/** Rounds of everybody in turn; the median of each, and of the ratios of each round to the last one's. */
async function compare(contenders, workers) {
  const rounds = [];
  for (const { cycle } of contenders) await rate(workers, WARM_UP_MS, cycle);
  for (let round = 0; round < ROUNDS; round++) {
    const rates = [];
    for (const { cycle } of contenders) rates.push(await rate(workers, ROUND_MS, cycle));
    rounds.push(rates);
  }
  return {
    rates: contenders.map((_, index) => median(rounds.map((rates) => rates[index]))),
    ratio: median(rounds.map(([ours, theirs]) => ours / theirs)),
  };
}

installEngines();
const rows = [];
for (const startEngine of ENGINES) {
  const engine = await startEngine();
  const peer = PEERS[engine.name];
  const contenders = [await startHoldfast(engine), await peer.start(engine)];
  for (const workers of AT_A_TIME) {
    const { rates, ratio: ofPeer } = await compare(contenders, workers);
    const goal = workers === 1 ? '–' : ratio(peer.goal);
    rows.push([
      engine.name,
      workers,
      thousands(rates[0]),
      peer.title,
      thousands(rates[1]),
      ratio(ofPeer),
      goal,
    ]);
  }
  for (const { stop } of contenders) await stop();
  await engine.destroy();
}
table(
  'Lock + unlock cycles a second on private keys, the state in an outside engine',
  ['engine', 'at a time', 'LockClient', 'peer', 'its cycles', 'of the peer', 'goal'],
  rows,
);
console.log('\nGoal 6: 32 at a time, on Redis ≥ 0.50 of redlock, on etcd ≥ 3.00 of the lock of `etcd3`.');
