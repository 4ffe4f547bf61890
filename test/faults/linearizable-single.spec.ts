import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { LockClient } from '../linearizability/lock-client.js';
import { Recorder } from '../linearizability/recorder.js';
import { seeded } from '../support/random.js';
import { ServerProcess } from '../support/server-process.js';
import { chosenSeed, expectOneOrder, RESOURCES, TIMING, TYPES } from './one-order.js';

const OPERATIONS = Number(process.env['LINEARIZABLE_OPERATIONS'] ?? 2000);
const KILLS = 4;
const CLIENTS = 10;

it(
  `is one lock per key to its clients, through ${KILLS} kills`,
  async () => {
    const seed = chosenSeed();
    const recorder = new Recorder(seed);
    onTestFinished(() => recorder.close());
    const server = await ServerProcess.start({
      STORE_URL: 'file:',
      CLAIM_TIMEOUT_MS: String(TIMING.claimTimeoutMs),
    });
    onTestFinished(() => server.remove());
    const around = { recorder, random: seeded(seed), urls: [server.url], resources: RESOURCES, types: TYPES };
    const clients = Array.from(
      { length: CLIENTS },
      (_, i) => new LockClient(around, `node-${i}`, i % 2 === 0),
    );

    for (let round = 1; round <= KILLS; round++) {
      const working = Promise.all(clients.map((client) => client.work(() => false)));
      while (recorder.answered < (OPERATIONS * round) / KILLS) await sleep(5);
      await server.end('SIGKILL');
      recorder.gone(server.url);
      await working;
      await server.startAgain();
    }
    await expectOneOrder(recorder, clients, 'on file:');
    expect(recorder.answered).toBeGreaterThanOrEqual(1500);
  },
  120_000 + OPERATIONS * 20,
);
