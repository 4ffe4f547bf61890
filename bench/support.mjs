// What the benchmarks share: a store of each kind in a directory of its own, a manager over it, and a timer.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SystemClock } from '../dist/common/system-clock.js';
import { readSettings } from '../dist/config/settings.js';
import { LockManager } from '../dist/locking/lock-manager.js';
import { createStateStore } from '../dist/stores/create-state-store.js';
import { EventBus } from '../dist/subscriptions/event-bus.js';

export const clock = new SystemClock();

export async function temporaryDirectory() {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

export async function openStore(kind, path) {
  const store = await createStateStore(kind === 'memory' ? 'memory:' : `file:${path}`, 'bench/', clock);
  await store.open();
  return store;
}

export async function startManager(store, environment = {}) {
  const manager = new LockManager(store, clock, readSettings(environment), new EventBus(clock));
  await manager.onModuleInit();
  return manager;
}

/** Runs `work(worker, turn)` from this many workers for this long; how many a second. */
export async function rate(concurrency, milliseconds, work) {
  const end = performance.now() + milliseconds;
  const begin = performance.now();
  let done = 0;
  const worker = async (id) => {
    for (let turn = 0; performance.now() < end; turn++) {
      await work(id, turn);
      done++;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, (_, id) => worker(id)));
  return (done * 1000) / (performance.now() - begin);
}

export function percentile(sorted, fraction) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))];
}

export const thousands = (number) => Math.round(number).toLocaleString('en-US');
export const ratio = (number) => number.toFixed(2);

/** Prints rows as a Markdown table. */
export function table(title, header, rows) {
  console.log(`\n### ${title}\n\n| ${header.join(' | ')} |\n|${header.map(() => '---').join('|')}|`);
  for (const row of rows) console.log(`| ${row.join(' | ')} |`);
}
