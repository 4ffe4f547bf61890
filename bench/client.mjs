// `LockClient` against the whole server, beside redlock on a real Redis. The server and Redis run on one core each in turn,
// the client on the other. Processor time is given beside the rates: it says which side is the limit, and other work on the
// machine disturbs it less.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import Redlock from 'redlock';
import { LockClient } from '../dist/client/index.js';
import { startBareHttp } from './bare-http.mjs';
import { startBareLocks } from './bare-locks.mjs';
import { freePort, leaveServerCore, start } from './processes.mjs';
import { rate, ratio, table, temporaryDirectory, thousands } from './support.mjs';

const MILLISECONDS = 700;
const WARM_UP_MS = 4000;
/** Single requests are few: it takes some 12,000 cycles until the server's code for them is compiled, and nothing changes after that. */
const WARM_UP_ALONE_MS = 12_000;
const ROUNDS = 15;
const WORKERS = 32;
const CONTENDED_KEYS = 4;
const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));

async function startHoldfast(environment) {
  const port = await freePort();
  const env = { PORT: port, ...environment };
  const server = await start(process.execPath, [main], env, 'Holdfast listens');
  return { url: `http://127.0.0.1:${port}`, ...server };
}

async function startRedis() {
  if (spawnSync('redis-server', ['--version']).error) return undefined;
  const port = await freePort();
  const options = ['--port', port, '--save', '', '--appendonly', 'no', '--bind', '127.0.0.1'];
  const server = await start('redis-server', options, {}, 'Ready to accept connections');
  return { port: Number(port), ...server };
}

/** One round: how many a second, and what one of them cost on either side. */
async function round(milliseconds, server, workers, work) {
  const begun = performance.now();
  const before = process.cpuUsage();
  const serverBefore = server.usedUs();
  const perSecond = await rate(workers, milliseconds, work);
  const count = (perSecond * (performance.now() - begun)) / 1000;
  const { user, system } = process.cpuUsage(before);
  return {
    perSecond,
    clientUs: (user + system) / count,
    serverUs: (server.usedUs() - serverBefore) / count,
  };
}

/**
 * Many short rounds of each contender, each with a server of its own, after one to warm up. They take turns, so that whatever else the machine does disturbs all of
 * them alike.
 */
async function measure(contenders) {
  const results = new Map(contenders.map(([name]) => [name, []]));
  for (const [, server, workers, work] of contenders)
    await round(workers === 1 ? WARM_UP_ALONE_MS : WARM_UP_MS, server, workers, work);
  for (let n = 0; n < ROUNDS; n++) {
    for (const [name, ...contender] of contenders)
      results.get(name).push(await round(MILLISECONDS, ...contender));
  }
  return Object.fromEntries(results);
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

async function cycle(client, key) {
  const { hold, error } = await client.lock(key);
  if (!hold) throw error ?? new Error('skipped');
  await client.unlock(hold, { success: true });
}

/** Cycles of a client of its own, each worker on its own key. */
function privateKeys(server) {
  const client = new LockClient({ serverUrl: server.url, nodeId: 'bench' });
  return (worker) => cycle(client, { type: 'update', resourceId: `sha256:${worker}` });
}

/**
 * Each asker is a node of its own, with its own connections. Under hand-over every one of them has its turn, in order. redlock
 * has no queue: its askers share one connection and try again every 1 to 3 ms, and who comes by when the key is free gets it.
 */
function contended(server) {
  const clients = Array.from(
    { length: WORKERS },
    (_, n) => new LockClient({ serverUrl: server.url, nodeId: `n${n}` }),
  );
  return (worker) =>
    cycle(clients[worker], { type: 'update', resourceId: `sha256:${worker % CONTENDED_KEYS}` });
}

function redlockContenders(server) {
  const redis = new Redis(server.port, '127.0.0.1');
  const redlock = new Redlock([redis], { retryCount: 1_000_000, retryDelay: 1, retryJitter: 2 });
  const on = (keys) => async (worker) => {
    const lock = await redlock.lock(`r${worker % keys}`, 10_000);
    await lock.unlock();
  };
  return [
    ['redlock', server, WORKERS, on(WORKERS)],
    ['redlockContended', server, WORKERS, on(CONTENDED_KEYS)],
    ['redlockAlone', server, 1, on(1)],
  ];
}

async function bareContenders() {
  const { server, asks } = await startBareHttp();
  return Object.entries(asks).map(([name, ask]) => [
    name,
    server,
    1,
    async () => {
      await ask();
      await ask();
    },
  ]);
}

async function measureAll() {
  const directory = await temporaryDirectory();
  const redis = await startRedis();
  if (!redis) console.log('\nNo redis-server on the PATH: redlock is skipped.');
  const memory = await startHoldfast({ STORE_URL: 'memory:' });
  const file = await startHoldfast({ STORE_URL: `file:${directory.path}` });
  const handover = await startHoldfast({ STORE_URL: 'memory:', SUCCESS_POLICY: 'handover' });
  const single = await startHoldfast({ STORE_URL: 'memory:' });
  const bare = await startBareLocks();
  const bareFile = await startBareLocks(join(directory.path, 'bare'));
  const bareSingle = await startBareLocks();
  const results = await measure([
    ...(redis ? redlockContenders(redis) : []),
    ['memory', memory, WORKERS, privateKeys(memory)],
    ['bare', bare, WORKERS, privateKeys(bare)],
    ['bareFile', bareFile, WORKERS, privateKeys(bareFile)],
    ['file', file, WORKERS, privateKeys(file)],
    ['handover', handover, WORKERS, contended(handover)],
    ['alone', single, 1, privateKeys(single)],
    ['bareAlone', bareSingle, 1, privateKeys(bareSingle)],
    ...(await bareContenders()),
  ]);
  await directory.remove();
  return results;
}

/** Of rounds next to each other: what slows down one slows down the other. */
const beside = (rounds, others) =>
  others ? ratio(median(rounds.map(({ perSecond }, n) => perSecond / others[n].perSecond))) : '–';
const rateOf = (rounds) => median(rounds.map(({ perSecond }) => perSecond));
const microseconds = (us) => (Number.isNaN(us) ? '–' : us.toFixed(us < 100 ? 1 : 0));
const costs = (rounds) =>
  ['clientUs', 'serverUs'].map((side) => microseconds(median(rounds.map((one) => one[side]))));

/** What the disk alone takes of a cycle, and what `file:` would have of `memory:` if it took nothing else. */
function diskAlone({ bare, bareFile, memory }) {
  const [bareUs, bareFileUs, memoryUs] = [bare, bareFile, memory].map((rounds) => 1e6 / rateOf(rounds));
  const diskUs = bareFileUs - bareUs;
  return `Of a cycle of \`file:\` this disk takes ${microseconds(diskUs)} µs: with nothing else it would have ${ratio(memoryUs / (memoryUs + diskUs))} of \`memory:\`.`;
}

leaveServerCore();
const results = await measureAll();
table(
  `LockClient: lock + unlock cycles a second, ${WORKERS} at a time, the server on another core`,
  ['', 'cycles/s', 'client µs', 'server µs', 'of redlock', 'of memory'],
  [
    ['private keys, redlock on Redis', results.redlock],
    ['private keys, a server that only answers', results.bare, results.redlock],
    ['private keys, `memory:`', results.memory, results.redlock, results.memory],
    [
      'private keys, a server that only writes to the disk and answers',
      results.bareFile,
      results.redlock,
      results.memory,
    ],
    ['private keys, `file:`', results.file, results.redlock, results.memory],
    [`${CONTENDED_KEYS} keys, redlock on Redis: whoever comes by`, results.redlockContended],
    [`${CONTENDED_KEYS} keys, \`memory:\`: hand-overs in turn`, results.handover, results.redlockContended],
  ]
    .filter(([, result]) => result)
    .map(([title, result, peer, ofMemory]) => [
      title,
      thousands(rateOf(result)),
      ...costs(result),
      beside(result, peer),
      beside(result, ofMemory),
    ]),
);
table(
  'One at a time: how long lock + unlock take',
  ['', 'µs', 'client µs', 'server µs', 'of two bare round trips', 'of two by `node:http`'],
  [
    ['two bare round trips by undici', results.undici],
    ['two bare round trips by `node:http`', results.node],
    ['LockClient, a server that only answers', results.bareAlone],
    ['LockClient, `memory:`', results.alone],
    ['redlock on Redis', results.redlockAlone],
  ]
    .filter(([, result]) => result)
    .map(([title, result]) => [
      title,
      Math.round(1e6 / rateOf(result)).toString(),
      ...costs(result),
      beside(results.undici, result),
      beside(results.node, result),
    ]),
);
console.log(
  `\nMedians of ${ROUNDS} rounds, and of the ratios of rounds next to each other. µs of client and server: processor time for each cycle.`,
);
console.log(diskAlone(results));
console.log(
  'Goal 2: private keys in memory ≥ 1.0 of redlock; `file:` ≥ 0.60 of `memory:`. Goal 3: at most 1.30 of two bare round trips.',
);
process.exit();
