import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SystemClock } from '../../src/common/system-clock.js';
import { LmdbStateStore } from '../../src/stores/lmdb/lmdb-state-store.js';
import { type CommitOutcome, type Item } from '../../src/stores/state-store.interface.js';
import { StoreProcess } from '../support/store-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** A limit on file sizes stands in for the full disk: it needs no privileges, and the writes meet it the same way. */
const FILE_BLOCKS = 2048;
const TOO_SMALL_FOR_ANYTHING = 32;

const UNAVAILABLE = {
  code: 'STORE_UNAVAILABLE',
  message: expect.stringMatching(/free there.*Make room/) as string,
};

let directory: string;
let child: StoreProcess;
beforeEach(() => void (directory = temporaryDirectory()));
afterEach(async () => {
  await child.kill();
  rmSync(directory, { recursive: true });
});

function write(n: number): Promise<unknown> {
  const put = `${n}`.padEnd(30_000, '.');
  return child.tell({ do: 'commit', writes: [{ key: `k${n}`, expect: 'absent', put }] });
}

it.skipIf(process.platform !== 'linux')(
  'refuses commits when the disk is full, stays readable, and works again when there is room',
  async () => {
    child = new StoreProcess(directory, { fileBlocks: FILE_BLOCKS });
    expect(await child.tell({ do: 'open' })).toBeNull();
    const revisions: number[] = [];
    /** Saving what is in the journal may make some room after the first refusals. */
    for (let refused = 0; refused < 10;) {
      const outcome = (await write(revisions.length)) as CommitOutcome;
      if (outcome.status === 'committed') revisions.push(outcome.revision);
      else expect(outcome).toEqual(UNAVAILABLE);
      refused = outcome.status === 'committed' ? 0 : refused + 1;
      expect(revisions.length, 'the limit was never met').toBeLessThan(FILE_BLOCKS);
    }
    expect(revisions.length).toBeGreaterThan(10);
    expect(((await child.tell({ do: 'list' })) as Item[]).length).toBe(revisions.length);

    child.liftFileLimit();
    const again = (await write(1000)) as CommitOutcome;
    expect(again).toMatchObject({ status: 'committed' });
    expect(again.status === 'committed' && again.revision > revisions.at(-1)!).toBe(true);

    await child.kill();
    const store = new LmdbStateStore(directory, new SystemClock());
    await store.open();
    const items = await store.get(
      0,
      revisions.map((_, n) => `k${n}`),
    );
    expect(items.map((item) => item?.revision)).toEqual(revisions);
    await store.close();
  },
);

it('refuses to start without room, with an error and not a crash', async () => {
  child = new StoreProcess(directory, { fileBlocks: TOO_SMALL_FOR_ANYTHING });
  expect(await child.tell({ do: 'open' })).toEqual({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringContaining(directory) as string,
  });
  await child.kill();
  const store = new LmdbStateStore(directory, new SystemClock());
  await store.open();
  await store.close();
});
