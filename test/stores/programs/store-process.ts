import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { SystemClock } from '../../../src/common/system-clock.js';
import { LmdbStateStore } from '../../../src/stores/lmdb/lmdb-state-store.js';
import { type Item, type Write } from '../../../src/stores/state-store.interface.js';
import { StoreError } from '../../../src/stores/store.error.js';
import { type StoreCommand, type StoreReply } from '../../support/store-process.js';

/** A process with a store in the directory of its first argument; does what the lines of its input say. */
const store = new LmdbStateStore(process.argv[2]!, new SystemClock());

async function perform(command: StoreCommand): Promise<unknown> {
  if (command.do === 'open') return store.open();
  if (command.do === 'close') return store.close();
  if (command.do === 'commit') return store.commit(0, command.writes);
  if (command.do === 'get') return store.get(0, command.keys);
  if (command.do === 'load') return Promise.all(Array.from({ length: command.workers }, (_, n) => load(n)));
  const items: Item[] = [];
  for await (const page of (await store.list(0)).pages) items.push(...page);
  return items;
}

/**
 * Commits without end: a record that is updated, and with it a new one, long enough for the journal to be saved on the way. Says
 * each acknowledgement at once.
 */
async function load(worker: number): Promise<never> {
  let expect: Write['expect'] = 'absent';
  for (let n = 0; ; n++) {
    const value = `${n}`.padEnd(3000, '.');
    const writes: Write[] = [
      { key: `${worker}`, expect, put: value },
      { key: `${worker}/${n}`, expect: 'absent', put: value },
    ];
    const outcome = await store.commit(0, writes);
    if (outcome.status !== 'committed') throw new Error(`unexpected ${outcome.status}`);
    expect = outcome.revision;
    say({ acknowledged: { worker, n, revision: outcome.revision } });
  }
}

function say(reply: StoreReply): void {
  writeSync(1, `${JSON.stringify(reply)}\n`);
}

createInterface({ input: process.stdin }).on('line', (line) => {
  perform(JSON.parse(line) as StoreCommand).then(
    (result) => say({ result: result ?? null }),
    (error: Error) =>
      say({ error: { code: error instanceof StoreError ? error.code : 'NO_CODE', message: error.message } }),
  );
});
