import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { LockClient } from '../linearizability/lock-client.js';
import { Recorder } from '../linearizability/recorder.js';
import { EtcdCluster } from '../support/engines/etcd-server.js';
import { RedisServer } from '../support/engines/redis-server.js';
import { pick, seeded } from '../support/random.js';
import { ServerProcess } from '../support/server-process.js';
import { chosenSeed, expectOneOrder, RESOURCES, TIMING, TYPES } from './one-order.js';

const OPERATIONS = Number(process.env['LINEARIZABLE_OPERATIONS'] ?? 1200);
const INSTANCES = 3;
const KILLS = 4;
const CLIENTS = 8;

const ENGINES = { Redis: () => RedisServer.start(), etcd: () => EtcdCluster.start(3) };

it.for(Object.entries(ENGINES))(
  `%s under ${INSTANCES} instances is one lock per key to their clients, through ${KILLS} kills`,
  { timeout: 180_000 + OPERATIONS * 40 },
  async ([name, startEngine]) => {
    const seed = chosenSeed();
    const random = seeded(seed);
    const recorder = new Recorder(seed);
    onTestFinished(() => recorder.close());
    const engine = await startEngine();
    onTestFinished(() => engine.destroy());
    const servers = await Promise.all(
      Array.from({ length: INSTANCES }, () =>
        ServerProcess.start({
          STORE_URL: engine.url,
          CLAIM_TIMEOUT_MS: String(TIMING.claimTimeoutMs),
        }),
      ),
    );
    for (const server of servers) onTestFinished(() => server.remove());
    const urls = servers.map(({ url }) => url);
    const around = { recorder, random, urls, resources: RESOURCES, types: TYPES };
    const clients = Array.from(
      { length: CLIENTS },
      (_, i) => new LockClient(around, `node-${i}`, i % 2 === 0),
    );

    for (let round = 1; round <= KILLS; round++) {
      const working = clients.map((client) => client.work(() => false));
      while (recorder.answered < (OPERATIONS * round) / KILLS) await sleep(5);
      const victim = pick(random, servers);
      await victim.end('SIGKILL');
      recorder.gone(victim.url);
      await Promise.all(working);
      await victim.startAgain();
    }
    await expectOneOrder(recorder, clients, `on ${name}`);
    expect(recorder.answered).toBeGreaterThanOrEqual(OPERATIONS);
  },
);
