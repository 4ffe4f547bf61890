import { beforeEach, describe, expect, it } from 'vitest';
import { bench, type Bench, longName } from '../../test/support/layer.js';
import { plain } from '../../test/support/record-shelf.js';
import { WrappedStore } from '../../test/support/wrapped-store.js';
import { readRecord } from './record-reader.js';
import { NO_RECORD } from './records/record.js';

describe('readRecord', () => {
  let queue: Bench;
  let reader: WrappedStore;
  let changes: number;

  /** A queue of several chunks, and another connection to its store. */
  beforeEach(async () => {
    queue = await bench();
    reader = new WrappedStore(queue.store.inner);
    changes = 0;
    await Promise.all(Array.from({ length: 100 }, (_, i) => queue.layer.acquire(longName(i))));
  });

  const change = async () => {
    const i = ++changes;
    await queue.layer.withdraw(longName((i * 37) % 100));
    await queue.layer.acquire(longName((i * 37) % 100));
  };

  it('reads a record of many parts', async () => {
    const { record, commitId } = await readRecord(reader, 0, 'layer');
    expect(plain(record.state)).toEqual(plain(queue.manager.peek('layer')!));
    expect(commitId).toEqual(expect.any(String));
    expect((await queue.store.keys()).length).toBeGreaterThan(3);
  });

  it('never mixes parts of different commits, however often it is overtaken', async () => {
    for (let overtakings = 0; overtakings < 12; overtakings++) {
      let left = overtakings;
      reader.onGet = async (_keys, get) => {
        if (left-- > 0) await change();
        return get();
      };
      const { record } = await readRecord(reader, 0, 'layer');
      expect(plain(record.state)).toEqual(plain(queue.manager.peek('layer')!));
    }
  });

  it('gives up on a record that never stands still', async () => {
    let parts = 0;
    reader.onGet = async (_keys, get) => {
      const [head] = await get();
      const value = { ...(JSON.parse(head!.value) as object), p: { [`c${++parts}`]: 7 } };
      return [{ ...head!, value: JSON.stringify(value) }];
    };
    await expect(readRecord(reader, 0, 'layer')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it('finds nothing where nothing is', async () => {
    expect(await readRecord(reader, 0, 'other')).toEqual({ record: NO_RECORD, commitId: undefined });
  });
});
