import { expect } from 'vitest';
import { committed, getOne, PARTITION, put } from '../../src/stores/contract/harness.js';
import { type StateStore } from '../../src/stores/state-store.interface.js';
import { type EngineProxy } from '../support/engines/engine-proxy.js';
import { eventually } from './eventually.js';

/** Two commits, of which the second is made and its answer lost: unknown, and made once. `witness`: past the proxy. */
export async function expectUnknownOnce(
  store: StateStore,
  proxy: EngineProxy,
  witness: StateStore,
): Promise<void> {
  const before = await committed(store, put('a', 'absent', 'one'));
  proxy.mode = 'mute';
  const outcome = store.commit(PARTITION, [put('a', before, 'two')]);
  await eventually(async () => expect((await getOne(witness, 'a'))?.value).toBe('two'));
  proxy.cut();
  proxy.mode = 'pass';
  expect(await outcome).toMatchObject({ status: 'unknown' });
  const after = await eventually(async () => getOne(store, 'a'));
  expect(after?.value).toBe('two');
  expect(await store.commit(PARTITION, [put('a', before, 'two')])).toEqual({ status: 'conflict' });
}
