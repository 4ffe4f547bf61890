// What SHARD_COUNT buys: lock + release cycles through the manager, by number of shards and of resources that are known. The rounds
// of all shard counts alternate, so that a noisy machine is noisy to all alike; processor time per cycle stays meaningful when the
// cores are not ours alone.
import { openStore, percentile, startManager, table, temporaryDirectory, thousands } from './support.mjs';

const SHARDS = [1, 4, 32, 256];
const RESOURCES = [1, 32, 1000, 100_000];
const AT_A_TIME = 32;
const ROUND_MS = 500;
const ROUNDS = 7;
const outcome = { success: true, error: '', fatal: false };

/** Everyone has a key of its own: with fewer resources than askers, of a type of its own. */
async function cycles(manager, resources, milliseconds) {
  const latencies = [];
  const used = process.cpuUsage();
  const begin = performance.now();
  const end = begin + milliseconds;
  const worker = async (id) => {
    const asker = { nodeId: `node-${id}` };
    const type = resources < AT_A_TIME ? `update-${id}` : 'update';
    for (let turn = 0; performance.now() < end; turn++) {
      const resource = `sha256:${(turn * AT_A_TIME + id) % resources}`;
      const since = performance.now();
      await manager.execute(resource, { kind: 'acquire', type, asker });
      await manager.execute(resource, { kind: 'release', type, asker, ...outcome });
      latencies.push(performance.now() - since);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, (_, id) => worker(id)));
  latencies.sort((a, b) => a - b);
  const { user, system } = process.cpuUsage(used);
  return {
    cpuUs: (user + system) / latencies.length,
    rate: (latencies.length * 1000) / (performance.now() - begin),
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}

/** Held by somebody else, under another key, so that every resource is known throughout. */
async function fill(manager, resources) {
  const hold = (id) =>
    manager.execute(`sha256:${id}`, { kind: 'acquire', type: 'keep', asker: { nodeId: 'keeper' } });
  for (let next = 0; next < resources; next += 1000) {
    await Promise.all(Array.from({ length: Math.min(1000, resources - next) }, (_, id) => hold(next + id)));
  }
}

async function start(kind, shards, resources) {
  const directory = await temporaryDirectory();
  const store = await openStore(kind, directory.path);
  const manager = await startManager(store, { SHARD_COUNT: String(shards) });
  await fill(manager, resources);
  await cycles(manager, resources, ROUND_MS);
  const stop = async () => {
    await manager.beforeApplicationShutdown();
    await store.close();
    await directory.remove();
  };
  return { shards, manager, stop, results: [] };
}

const median = (results, name) =>
  results.map((result) => result[name]).toSorted((a, b) => a - b)[ROUNDS >> 1];

for (const kind of ['memory', 'file']) {
  const rows = [];
  for (const resources of RESOURCES) {
    const running = [];
    for (const shards of SHARDS) running.push(await start(kind, shards, resources));
    for (let round = 0; round < ROUNDS; round++) {
      for (const { manager, results } of running) results.push(await cycles(manager, resources, ROUND_MS));
    }
    for (const { shards, results } of running) {
      const [rate, cpuUs, p50, p99] = ['rate', 'cpuUs', 'p50', 'p99'].map((name) => median(results, name));
      const one = median(running[0].results, 'rate');
      rows.push([
        thousands(resources),
        shards,
        thousands(rate),
        (rate / one).toFixed(2),
        cpuUs.toFixed(0),
        p50.toFixed(2),
        p99.toFixed(2),
      ]);
    }
    for (const { stop } of running) await stop();
  }
  table(
    `\`${kind}:\`, lock + release cycles, ${AT_A_TIME} at a time`,
    ['resources', 'SHARD_COUNT', 'cycles/s', 'of one shard', 'processor µs each', 'p50 ms', 'p99 ms'],
    rows,
  );
}
