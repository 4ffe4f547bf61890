// What a request costs: the whole app, and Nest without Holdfast in it, beside bare node:http and stock Nest. The server has one core, the load the other. Rounds alternate, so that a noisy machine is noisy to all
// alike; processor time per request stays meaningful when the cores are not ours alone.
import { fileURLToPath } from 'node:url';
import { load, startServer } from './http-load.mjs';
import { REQUESTS, SERVERS } from './http-servers.mjs';
import { ratio, table, thousands } from './support.mjs';

const CONNECTIONS = 64;
/** As many for each, however slow: code that has not been compiled yet would count against whoever has more of it. */
const WARM_UP_REQUESTS = 40_000;
const WARM_UP_MS = 1000;
const WARM_UP_ROUNDS = 10;
const ROUND_MS = 3000;
const ROUNDS = 3;
/** Alone a request takes other paths through the compiled code, and comes seldom. */
const ALONE_WARM_UP_MS = 4000;

const script = fileURLToPath(new URL('http-servers.mjs', import.meta.url));

/** One round: how fast, and how much of its processor the server needed for each request. */
async function measure({ port, cpuMs }, milliseconds, connections = CONNECTIONS) {
  const before = await cpuMs();
  const result = await load({ port, requests: REQUESTS, connections, milliseconds });
  return { ...result, cpuUs: ((await cpuMs()) - before) * (1000 / result.requests) };
}

const median = (results, key) => results.map((result) => result[key]).toSorted((a, b) => a - b)[ROUNDS >> 1];

const servers = [];
for (const [name, { title }] of Object.entries(SERVERS)) {
  servers.push({ title, results: [], alone: [], ...(await startServer(script, name)) });
}
for (const server of servers) {
  let requests = 0;
  for (let round = 0; requests < WARM_UP_REQUESTS && round < WARM_UP_ROUNDS; round++) {
    requests += (await measure(server, WARM_UP_MS)).requests;
  }
}
for (let round = 0; round < ROUNDS; round++) {
  for (const server of servers) server.results.push(await measure(server, ROUND_MS));
}
for (const server of servers) await measure(server, ALONE_WARM_UP_MS, 1);
for (let round = 0; round < ROUNDS; round++) {
  for (const server of servers) server.alone.push(await measure(server, ROUND_MS, 1));
}
for (const { stop } of servers) stop();

const bare = servers[0].results;
table(
  `POST /lock and /unlock in turn, ${CONNECTIONS} connections with a key each, the server on one core`,
  ['server', 'req/s', 'of bare', 'processor µs each', 'of bare', 'p50 ms', 'p99 ms'],
  servers.map(({ title, results }) => {
    const [rate, cpuUs] = [median(results, 'rate'), median(results, 'cpuUs')];
    return [
      title,
      thousands(rate),
      ratio(rate / median(bare, 'rate')),
      cpuUs.toFixed(0),
      ratio(median(bare, 'cpuUs') / cpuUs),
      median(results, 'p50').toFixed(1),
      median(results, 'p99').toFixed(1),
    ];
  }),
);

table(
  'The same, one at a time: how long a request and its answer take',
  ['server', 'µs', 'of bare', 'processor µs each'],
  servers.map(({ title, alone }) => {
    const rate = median(alone, 'rate');
    return [
      title,
      (1e6 / rate).toFixed(0),
      ratio(median(servers[0].alone, 'rate') / rate),
      median(alone, 'cpuUs').toFixed(0),
    ];
  }),
);

console.log('\nGoal 1: the whole app ≥ 0.40 of bare.');
