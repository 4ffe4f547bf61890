// `LockClient` against the whole server, beside redlock on a real Redis. The server and Redis run on one core each in turn,
// the client on the other.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import Redlock from 'redlock';
import { Pool } from 'undici';
import { LockClient } from '../dist/client/index.js';
import { rate, ratio, table, temporaryDirectory, thousands } from './support.mjs';

const MILLISECONDS = 3000;
/** Single requests take other paths than batches, and are few: their code needs time to be compiled. */
const WARM_UP_MS = 4000;
const ROUNDS = 3;
const WORKERS = 32;
const CONTENDED_KEYS = 4;
const [SERVER_CORE, CLIENT_CORE] = ['0', '1'];
const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const isLinux = process.platform === 'linux';

if (isLinux) spawnSync('taskset', ['-cp', CLIENT_CORE, String(process.pid)]);

async function freePort() {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return String(port);
}

/** Starts a program on the server's core; `ready` is in the line that says it listens. */
async function start(command, args, env, ready) {
  const pinned = isLinux ? ['taskset', '-c', SERVER_CORE, command, ...args] : [command, ...args];
  const child = spawn(pinned[0], pinned.slice(1), {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout });
  await new Promise((resolve, reject) => {
    lines.on('line', (line) => line.includes(ready) && resolve());
    child.once('exit', () => reject(new Error(`${command} did not start`)));
  });
  lines.close();
  child.stdout.resume();
  return async () => {
    child.kill();
    await once(child, 'exit');
  };
}

async function startHoldfast(environment) {
  const port = await freePort();
  const stop = await start(process.execPath, [main], { PORT: port, ...environment }, 'Holdfast listens');
  return { url: `http://127.0.0.1:${port}`, stop };
}

async function startRedis() {
  if (spawnSync('redis-server', ['--version']).error) return undefined;
  const port = await freePort();
  const options = ['--port', port, '--save', '', '--appendonly', 'no', '--bind', '127.0.0.1'];
  return {
    port: Number(port),
    stop: await start('redis-server', options, {}, 'Ready to accept connections'),
  };
}

/** The median of some rounds, after one to warm up. */
async function median(measure) {
  await measure(WARM_UP_MS);
  const results = [];
  for (let round = 0; round < ROUNDS; round++) results.push(await measure(MILLISECONDS));
  return results.toSorted((a, b) => a - b)[ROUNDS >> 1];
}

async function cycle(client, key) {
  const { hold, error } = await client.lock(key);
  if (!hold) throw error ?? new Error('skipped');
  await client.unlock(hold, { success: true });
}

async function privateKeys(url, workers) {
  const client = new LockClient({ serverUrl: url, nodeId: 'bench' });
  const measure = (milliseconds) =>
    rate(workers, milliseconds, (worker) =>
      cycle(client, { type: 'update', resourceId: `sha256:${worker}` }),
    );
  const result = await median(measure);
  await client.close();
  return result;
}

/** Each asker is a node of its own. Under hand-over every one of them has its turn. */
async function contended(url) {
  const clients = Array.from(
    { length: WORKERS },
    (_, n) => new LockClient({ serverUrl: url, nodeId: `n${n}` }),
  );
  const measure = (milliseconds) =>
    rate(WORKERS, milliseconds, (worker) =>
      cycle(clients[worker], { type: 'update', resourceId: `sha256:${worker % CONTENDED_KEYS}` }),
    );
  const result = await median(measure);
  await Promise.all(clients.map((client) => client.close()));
  return result;
}

async function redlockRates({ port }) {
  const redis = new Redis(port, '127.0.0.1');
  const redlock = new Redlock([redis], { retryCount: 1_000_000, retryDelay: 1, retryJitter: 2 });
  const run = (workers, keys) =>
    median((milliseconds) =>
      rate(workers, milliseconds, async (worker) => {
        const lock = await redlock.lock(`r${worker % keys}`, 10_000);
        await lock.unlock();
      }),
    );
  const rates = {
    alone: await run(1, 1),
    private: await run(WORKERS, WORKERS),
    contended: await run(WORKERS, CONTENDED_KEYS),
  };
  redis.disconnect();
  return rates;
}

const BODY = JSON.stringify({
  type: 'update',
  resource_id: 'sha256:0',
  node_id: 'bench',
  session_id: 'x'.repeat(22),
});

/** Two bare round trips, with bodies of the same size, through the same HTTP client. As a program of its own: `bare`. */
async function bareRoundTrips() {
  const script = fileURLToPath(import.meta.url);
  const port = await freePort();
  const stop = await start(process.execPath, [script, 'bare', port], {}, 'listens');
  const pool = new Pool(`http://127.0.0.1:${port}`);
  const headers = { 'content-type': 'application/json' };
  const ask = () =>
    new Promise((resolve, reject) => {
      const chunks = [];
      pool.dispatch(
        { method: 'POST', path: '/lock', body: BODY, headers },
        {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData: (_controller, chunk) => chunks.push(chunk),
          onResponseEnd: () => resolve(JSON.parse(Buffer.concat(chunks).toString())),
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });
  const result = await median((milliseconds) =>
    rate(1, milliseconds, async () => {
      await ask();
      await ask();
    }),
  );
  await pool.destroy();
  await stop();
  return result;
}

function serveBare(port) {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const { type } = JSON.parse(Buffer.concat(chunks).toString());
      const json = JSON.stringify({
        acquired: true,
        skip: false,
        message: type,
        token: 1234567890123,
        lease_ms: 0,
      });
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(json),
      });
      response.end(json);
    });
  });
  server.listen(port, '127.0.0.1', () => console.log('listens'));
}

async function compare() {
  const redis = await startRedis();
  const redlock = redis && (await redlockRates(redis));
  await redis?.stop();
  if (!redlock) console.log('\nNo redis-server on the PATH: redlock is skipped.');

  const memory = await startHoldfast({ STORE_URL: 'memory:' });
  const inMemory = {
    private: await privateKeys(memory.url, WORKERS),
    alone: await privateKeys(memory.url, 1),
  };
  await memory.stop();

  const directory = await temporaryDirectory();
  const file = await startHoldfast({ STORE_URL: `file:${directory.path}` });
  const durable = await privateKeys(file.url, WORKERS);
  await file.stop();
  await directory.remove();

  const handover = await startHoldfast({ STORE_URL: 'memory:', SUCCESS_POLICY: 'handover' });
  const passedOn = await contended(handover.url);
  await handover.stop();

  const beside = (result, other) => (other ? ratio(result / other) : '–');
  table(
    `LockClient: lock + unlock cycles a second, ${WORKERS} at a time, the server on another core`,
    ['', 'LockClient', 'redlock on Redis', 'of redlock', 'of memory'],
    [
      ['private keys, `memory:`', inMemory.private, redlock?.private, inMemory.private],
      ['private keys, `file:`', durable, redlock?.private, inMemory.private],
      [`${CONTENDED_KEYS} keys: hand-overs`, passedOn, redlock?.contended, undefined],
    ].map(([title, result, peer, ofMemory]) => [
      title,
      thousands(result),
      peer ? thousands(peer) : '–',
      beside(result, peer),
      beside(result, ofMemory),
    ]),
  );

  const bare = await bareRoundTrips();
  const microseconds = (perSecond) => Math.round(1e6 / perSecond).toString();
  table(
    'One at a time: how long lock + unlock take',
    ['', 'µs', 'of two bare round trips'],
    [
      ['two bare `node:http` round trips', microseconds(bare), '1.00'],
      ['LockClient, `memory:`', microseconds(inMemory.alone), ratio(bare / inMemory.alone)],
      [
        'redlock on Redis',
        redlock ? microseconds(redlock.alone) : '–',
        redlock ? ratio(bare / redlock.alone) : '–',
      ],
    ],
  );
  console.log(
    '\nGoal 2: private keys in memory ≥ 1.0 of redlock; `file:` ≥ 0.60 of `memory:`. Goal 3: at most 1.30 of two bare round trips.',
  );
}

if (process.argv[2] === 'bare') serveBare(Number(process.argv[3]));
else await compare();
