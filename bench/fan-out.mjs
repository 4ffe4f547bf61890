// Goal 4: one success told to ten thousand event streams, beside a bare node:http broadcast of a frame of the same size to as many.
// Each round opens streams of its own on a key of its own. Rounds alternate, so that a noisy machine is noisy to all alike.
import { execFileSync } from 'node:child_process';
import { startCrowd, startServer } from './streams/processes.mjs';
import { ratio, table } from './support.mjs';

const WANTED = 10_000;
const ROUNDS = 5;

/** Other than its streams, a process has at most this many files open. */
const OTHER_FILES = 200;
/** Streams in each of the rounds that only warm up. */
const WARM_UP = 500;
const WARM_UP_ROUNDS = 3;

const limit =
  process.platform === 'win32' ? Infinity : Number(execFileSync('sh', ['-c', 'ulimit -n'])) || Infinity;
const count = Math.min(WANTED, limit - OTHER_FILES);
if (count < WANTED) console.log(`\nOnly ${limit} files may be open (ulimit -n): ${count} streams.`);

const worker = { node_id: 'worker' };
const digest = (round) =>
  `sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d${String(round).padStart(2, '0')}`;

const VARIANTS = [
  { title: 'bare `node:http`', server: ['bare'] },
  { title: 'plain subscribers', server: ['app', 'memory:'], type: 'update' },
  { title: 'subscribers with `node_id`', server: ['app', 'memory:'], type: 'update', named: true },
  { title: 'waiters of an `update`', server: ['app', 'memory:'], type: 'update', named: true, queued: true },
  { title: 'waiters of a `pull`', server: ['app', 'memory:'], type: 'pull', named: true, queued: true },
  {
    title: 'waiters of a `pull`, in a session each',
    server: ['app', 'memory:'],
    type: 'pull',
    sessions: true,
    queued: true,
  },
];

/** One round: streams, waiters if wanted, and one success. */
async function round(crowd, { type, named, sessions, queued, results, port, server }, number, streams) {
  const { memory, blocked } = server;
  const key = { type: type ?? 'update', resource_id: digest(number) };
  const ofKey = `/lock/subscribe?${new URLSearchParams(key)}${named ? '&node_id=node-#' : ''}`;
  if (sessions) await crowd.order('openSessions', { port, count: streams });
  const before = await memory();
  const path = sessions ? '/sessions/#/events' : ofKey;
  const opened = await crowd.order('open', { port, count: streams, path });
  const perStream = ((await memory()) - before) / streams;
  if (type) await crowd.order('post', { port, path: '/lock', body: { ...key, ...worker } });
  if (queued) await crowd.order('queue', { port, key, count: streams });
  await memory();
  await blocked();
  const last = await crowd.order('tell', { port, path: '/unlock', body: { ...key, ...worker } });
  results.push({ opened, perStream, last, blocked: await blocked() });
  await crowd.order('close', {});
  if (sessions) await crowd.order('endSessions', { port });
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

const crowd = startCrowd();
const running = [];
for (const variant of VARIANTS) {
  const server = await startServer(...variant.server);
  running.push({ ...variant, server, port: server.port, results: [] });
}
for (const variant of running) {
  for (let number = 0; number < WARM_UP_ROUNDS; number++)
    await round(crowd, variant, number, Math.min(WARM_UP, count));
  variant.results.length = 0;
}
for (let number = WARM_UP_ROUNDS; number < WARM_UP_ROUNDS + ROUNDS; number++) {
  for (const variant of running) await round(crowd, variant, number, count);
}

const [bare] = running;
const of = ({ results }, name) => median(results.map((result) => result[name]));
table(
  `One success told to ${count.toLocaleString('en-US')} event streams (median of ${ROUNDS} rounds)`,
  [
    'who is told',
    'last one told ms',
    'of bare',
    'event loop blocked ms',
    'RSS per stream KB',
    'opening all s',
  ],
  running.map((variant) => [
    variant.title,
    of(variant, 'last').toFixed(0),
    ratio(of(variant, 'last') / of(bare, 'last')),
    of(variant, 'blocked').toFixed(0),
    // The first round takes the memory; later ones find it still there.
    (variant.results[0].perStream / 1024).toFixed(1),
    (of(variant, 'opened') / 1000).toFixed(1),
  ]),
);
console.log('\nGoal 4: ≤ 1.30 of bare.');
for (const { server } of running) server.stop();
crowd.stop();
