import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { seeded } from '../support/random.js';
import { BadInputServer } from './bad-input-server.js';
import { randomRequest } from './bad-input-random.js';

const REQUESTS = Number(process.env['BAD_INPUT_REQUESTS'] ?? 10_000);

/** These refusals may take the asker out of a queue, or be the one telling of a dismissal. All others change nothing. */
const MAY_CHANGE = new Set(['RESOURCE_IN_USE', 'OPERATION_FAILED']);

const NO_ERROR = { code: 'none', message: 'none' };

/** After this many, everything that is made once has been made. */
const WARM = 3000;

/** Sessions, and the memory store's change feed: that one stops growing at 16 MB, which is far beyond this many requests. */
const MAX_GROWN_MB = REQUESTS > 10_000 ? 30 : 10;

function heapMb(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

it(`answers ${REQUESTS} random requests in a row, changes nothing for a refused one, and works on`, async () => {
  const seed = Number(process.env['BAD_INPUT_SEED'] ?? Date.now() % 2 ** 31);
  const random = seeded(seed);
  const server = await BadInputServer.start();
  onTestFinished(() => server.stop());
  const statuses: Record<number, number> = {};
  let warmMb = 0;
  for (let n = 0; n < REQUESTS; n++) {
    const request = randomRequest(random);
    const told = () => `BAD_INPUT_SEED=${seed}, request ${n}: ${request.toString('latin1').slice(0, 2000)}`;
    const resources = server.manager.size;
    const { status, text, commits } = await server.send(request).catch((cause: unknown) => {
      throw new Error(told(), { cause });
    });
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status >= 500 || status < 200) throw new Error(`${status} ${text} to ${told()}`);
    const { code, message } = status < 400 || text === '' ? NO_ERROR : (JSON.parse(text) as typeof NO_ERROR);
    if (!code || !message) throw new Error(`${status} without code and message: ${text} to ${told()}`);
    const changed = commits > 0 || server.manager.size !== resources;
    if (changed && status >= 400 && !MAY_CHANGE.has(code)) {
      throw new Error(`${status} ${code}, yet ${commits} commits for ${told()}`);
    }
    if (n === WARM) warmMb = heapMb();
  }
  const grownMb = heapMb() - warmMb;
  console.log(
    `bad input: seed ${seed}, answers ${JSON.stringify(statuses)}, heap ${grownMb.toFixed(1)} MB more`,
  );
  expect(statuses[200]).toBeGreaterThan(REQUESTS / 5);
  expect(statuses[400]).toBeGreaterThan(REQUESTS / 5);
  expect(grownMb).toBeLessThan(MAX_GROWN_MB);

  const key = { type: 'build', resource_id: 'afterwards', node_id: 'n' };
  expect(await server.json('POST', '/lock', key)).toMatchObject({ acquired: true });
  expect(await server.json('POST', '/unlock', key)).toMatchObject({ released: true });
  expect(await server.json('GET', '/health/ready')).toMatchObject({ status: 'ok' });
  expect(Object.keys(Object.prototype)).toEqual([]);
});
