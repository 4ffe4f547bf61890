// What a held lock costs: memory, and whether the millionth is as quick as the thousandth. Goal 7.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import {
  openStore,
  percentile,
  ratio,
  startManager,
  table,
  temporaryDirectory,
  thousands,
} from './support.mjs';

const SIZES = [1000, 10_000, 100_000, 1_000_000];
const SAMPLES = 2000;
const digest = (i) => `sha256:${i.toString(16).padStart(64, '0')}`;

/** At rest: V8 gives what it has freed back to the system a little later. */
async function rss() {
  globalThis.gc?.();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  globalThis.gc?.();
  return process.memoryUsage().rss;
}

async function hold(manager, from, to) {
  const CONCURRENT = 256;
  for (let i = from; i < to; i += CONCURRENT) {
    const batch = [];
    for (let j = i; j < Math.min(i + CONCURRENT, to); j++) {
      batch.push(
        manager.execute(digest(j), { kind: 'acquire', type: 'pull', asker: { nodeId: `node-${j % 1000}` } }),
      );
    }
    await Promise.all(batch);
  }
}

/** One at a time, so that it is latency and not throughput; on a warmed-up machine. */
async function acquireLatency(manager, size) {
  const samples = [];
  for (let i = 0; i < SAMPLES; i++) {
    const resource = `sample-${size}-${i}`;
    const asker = { nodeId: 'sampler' };
    const begin = performance.now();
    await manager.execute(resource, { kind: 'acquire', type: 'update', asker });
    samples.push((performance.now() - begin) * 1000);
  }
  samples.sort((a, b) => a - b);
  return { p50: percentile(samples, 0.5), p99: percentile(samples, 0.99) };
}

async function child(kind, path) {
  const store = await openStore(kind, path);
  const manager = await startManager(store);
  await hold(manager, 0, 500);
  await acquireLatency(manager, 'warm-up');
  const empty = await rss();
  const rows = [];
  let held = 500;
  for (const size of SIZES) {
    await hold(manager, held, size);
    held = size;
    const bytes = ((await rss()) - empty) / size;
    rows.push({ size, bytes, ...(await acquireLatency(manager, size)) });
  }
  await manager.beforeApplicationShutdown();
  await store.close();
  process.send({ rows });
}

async function restart(path) {
  const empty = await rss();
  const begin = performance.now();
  const store = await openStore('file', path);
  const manager = await startManager(store);
  const seconds = (performance.now() - begin) / 1000;
  process.send({ seconds, size: manager.size, bytes: ((await rss()) - empty) / manager.size });
  await manager.beforeApplicationShutdown();
  await store.close();
}

function inChild(...args) {
  return new Promise((resolve, reject) => {
    const process_ = fork(fileURLToPath(import.meta.url), args, { execArgv: ['--expose-gc'] });
    process_.once('message', resolve);
    process_.once('exit', (code) => code && reject(new Error(`benchmark ${args} ended with ${code}`)));
  });
}

const [mode, kind, path] = process.argv.slice(2);
if (mode === 'hold') await child(kind, path);
else if (mode === 'restart') await restart(path);
else {
  for (const kind of ['memory', 'file']) {
    const directory = await temporaryDirectory();
    const { rows } = await inChild('hold', kind, directory.path);
    const [first] = rows;
    table(
      `Held locks, ${kind} store`,
      ['held', 'RSS bytes each', 'acquire p50 µs', 'p99 µs', 'p50 against the first row'],
      rows.map(({ size, bytes, p50, p99 }) => [
        thousands(size),
        thousands(bytes),
        p50.toFixed(1),
        p99.toFixed(1),
        ratio(p50 / first.p50),
      ]),
    );
    if (kind === 'file') {
      const { seconds, size, bytes } = await inChild('restart', kind, directory.path);
      console.log(
        `\nStart from disk with ${thousands(size)} locks: ${seconds.toFixed(1)} s (goal ≤ 10), ${thousands(bytes)} RSS bytes each.`,
      );
    }
    await directory.remove();
  }
}
