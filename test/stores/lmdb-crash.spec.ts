import { afterEach, beforeEach, expect, it } from 'vitest';
import { rmSync } from 'node:fs';
import { SystemClock } from '../../src/common/system-clock.js';
import { LmdbStateStore } from '../../src/stores/lmdb/lmdb-state-store.js';
import { type Item } from '../../src/stores/state-store.interface.js';
import { StoreProcess } from '../support/store-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

let directory: string;
beforeEach(() => void (directory = temporaryDirectory()));
afterEach(() => rmSync(directory, { recursive: true }));

async function contents(store: LmdbStateStore): Promise<Map<string, Item>> {
  const items = new Map<string, Item>();
  for await (const page of (await store.list(0)).pages) for (const item of page) items.set(item.key, item);
  return items;
}

it('has every acknowledged commit, whole and at its revision, after being killed under load again and again', async () => {
  let newest = 0;
  for (let round = 0; round < 3; round++) {
    const child = new StoreProcess(directory);
    expect(await child.tell({ do: 'open' })).toBeNull();
    await child.load(32, 2000);
    await child.kill();
    expect(child.acknowledged.length).toBeGreaterThanOrEqual(2000);

    const store = new LmdbStateStore(directory, new SystemClock());
    await store.open();
    const items = await contents(store);
    for (const { worker, n, revision } of child.acknowledged) {
      expect(items.get(`${worker}/${n}`)?.revision).toBe(revision);
    }
    for (let worker = 0; worker < 32; worker++) {
      const { value, revision } = items.get(`${worker}`)!;
      expect(items.get(`${worker}/${parseInt(value)}`)).toEqual({
        key: `${worker}/${parseInt(value)}`,
        revision,
        value,
      });
    }
    const revisions = [...items.values()].map((item) => item.revision);
    newest = revisions.reduce((a, b) => Math.max(a, b), newest);
    const writes = [...items.values()].map(({ key, revision }) => ({
      key,
      expect: revision,
      delete: true as const,
    }));
    const outcome = await store.commit(0, writes);
    expect(outcome.status === 'committed' && outcome.revision > newest).toBe(true);
    if (outcome.status === 'committed') newest = outcome.revision;
    await store.close();
  }
});

it('goes on above every revision it ever gave out, even with the wall clock far back', async () => {
  const backThen = {
    turn: async () => undefined,
    wallMs: () => 0,
    monotonicMs: () => 0,
    after: () => () => {},
  };
  const child = new StoreProcess(directory);
  await child.tell({ do: 'open' });
  await child.load(8, 500);
  await child.kill();
  const store = new LmdbStateStore(directory, backThen);
  await store.open();
  const newest = Math.max(...child.acknowledged.map(({ revision }) => revision));
  const outcome = await store.commit(0, [{ key: 'next', expect: 'absent', put: '' }]);
  expect(outcome.status === 'committed' && outcome.revision > newest).toBe(true);
  await store.close();
});
