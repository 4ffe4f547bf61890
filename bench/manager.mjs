// Lock + release cycles through the manager, beside the raw store doing the two commits of each cycle.
import { openStore, rate, ratio, startManager, table, temporaryDirectory, thousands } from './support.mjs';

const MILLISECONDS = 2000;
const CONCURRENCY = [1, 32, 256];
const outcome = { success: true, error: '', fatal: false };
/** As long as the record of a held lock. */
const value = 'x'.repeat(300);

async function rawCycles(store, concurrency) {
  const revisions = Array.from({ length: concurrency }, () => 'absent');
  return rate(concurrency, MILLISECONDS, async (worker) => {
    for (let commit = 0; commit < 2; commit++) {
      const write = { key: `raw/${worker}`, expect: revisions[worker], put: value + revisions[worker] };
      revisions[worker] = (await store.commit(0, [write])).revision;
    }
  });
}

async function managerCycles(manager, concurrency) {
  return rate(concurrency, MILLISECONDS, async (worker) => {
    const asker = { nodeId: `node-${worker}` };
    const resource = `sha256:${worker}`;
    await manager.execute(resource, { kind: 'acquire', type: 'update', asker });
    await manager.execute(resource, { kind: 'release', type: 'update', asker, ...outcome });
  });
}

const measured = {};
for (const kind of ['memory', 'file']) {
  for (const concurrency of CONCURRENCY) {
    const directory = await temporaryDirectory();
    const store = await openStore(kind, directory.path);
    const manager = await startManager(store);
    await managerCycles(manager, concurrency);
    const raw = await rawCycles(store, concurrency);
    const through = await managerCycles(manager, concurrency);
    measured[`${kind} ${concurrency}`] = { raw, through };
    await manager.beforeApplicationShutdown();
    await store.close();
    await directory.remove();
  }
}

table(
  'Manager: lock + release cycles a second, private keys',
  ['store', 'at a time', 'manager', 'raw store, two commits', 'of raw', 'of memory'],
  Object.entries(measured).map(([name, { raw, through }]) => {
    const [kind, concurrency] = name.split(' ');
    const memory = measured[`memory ${concurrency}`].through;
    return [
      kind,
      concurrency,
      thousands(through),
      thousands(raw),
      ratio(through / raw),
      ratio(through / memory),
    ];
  }),
);
console.log(
  '\nGoal 2, durable half: `file` at 32 at a time ≥ 0.60 of `memory` (through `LockClient`, once there is one).',
);
