import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { seeded } from '../support/random.js';
import { ServerProcess } from '../support/server-process.js';
import { checkCell } from './crash-cell-check.js';
import { Cell } from './crash-cell.js';
import { Crowd } from './crash-crowd.js';
import { Facts } from './crash-facts.js';

const KILLS = Number(process.env['CRASH_KILLS'] ?? 10);
const CELLS = 32;
const CROWDS = 3;
const MEMBERS = 6;

/** Every so many kills the next start is killed too. */
const KILLED_STARTS_EVERY = 5;

it(
  `keeps every acknowledged fact through ${KILLS} kills under load`,
  async () => {
    const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
    const random = seeded(seed);
    const facts = new Facts();
    const server = await ServerProcess.start({ STORE_URL: 'file:', CLAIM_TIMEOUT_MS: '600000' });
    onTestFinished(() => server.remove());
    const cells = Array.from({ length: CELLS }, (_, i) => new Cell(server, `cell-${i + 10}`, random));
    const crowds = Array.from({ length: CROWDS }, (_, i) => new Crowd(server, `crowd-${i}`, random, MEMBERS));
    let kills = 0;
    while (kills < KILLS) {
      const load = Promise.all([...cells, ...crowds].map((one) => one.work()));
      await sleep(100 + random() * 400);
      await server.end('SIGKILL');
      await load;
      if (++kills % KILLED_STARTS_EVERY === 0 && kills < KILLS) {
        const started = server.startAgain().catch(() => {});
        await sleep(random() * 1500);
        await server.end('SIGKILL');
        await started;
        kills++;
      }
      await server.startAgain();
      await Promise.all([
        ...cells.map((cell) => checkCell(cell, facts)),
        ...crowds.map((crowd) => crowd.check(facts)),
      ]);
      const wrong = [...cells, ...crowds].flatMap((one) => one.wrong.splice(0));
      expect([...wrong, ...facts.broken], `CRASH_SEED=${seed}, after kill ${kills}`).toEqual([]);
    }
    console.log(
      `crash: ${kills} kills survived, ${facts.total} facts checked ${JSON.stringify(facts.counts)}, seed ${seed}`,
    );
    expect(facts.total).toBeGreaterThan(KILLS * 50);
  },
  60_000 + KILLS * 10_000,
);
