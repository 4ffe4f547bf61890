import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SystemClock } from '../../src/common/system-clock.js';
import { LmdbStateStore } from '../../src/stores/lmdb/lmdb-state-store.js';
import { StoreDirectory } from '../../src/stores/lmdb/store-directory.js';
import { type Item } from '../../src/stores/state-store.interface.js';
import { StoreProcess } from '../support/store-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const IN_USE = { code: 'STORE_IN_USE', message: expect.stringContaining('Another process') as string };

let directory: string;
let children: StoreProcess[];
beforeEach(() => {
  directory = temporaryDirectory();
  children = [];
});
afterEach(async () => {
  await Promise.all(children.map((child) => child.kill()));
  rmSync(directory, { recursive: true });
});

function newProcess(path = directory): StoreProcess {
  const child = new StoreProcess(path);
  children.push(child);
  return child;
}

function newStore(path = directory): LmdbStateStore {
  return new LmdbStateStore(path, new SystemClock());
}

function claimOf(name: string) {
  return { do: 'commit' as const, writes: [{ key: 'claimed', expect: 'absent' as const, put: name }] };
}

it('refuses a directory that another process serves, and serves it once that has closed', async () => {
  const owner = newProcess();
  expect(await owner.tell({ do: 'open' })).toBeNull();
  await expect(newStore().open()).rejects.toMatchObject(IN_USE);
  expect(await owner.tell(claimOf('owner'))).toMatchObject({ status: 'committed' });
  await owner.tell({ do: 'close' });
  const store = newStore();
  await store.open();
  await store.close();
});

it('refuses a second store on one directory in the same process', async () => {
  const store = newStore();
  await store.open();
  await expect(newStore().open()).rejects.toMatchObject(IN_USE);
  await expect(newStore(`${directory}/../${directory.split('/').at(-1)}`).open()).rejects.toMatchObject(
    IN_USE,
  );
  await store.close();
  expect(readdirSync(directory).filter((name) => name.endsWith('.sock'))).toEqual([]);
});

it('takes over from a killed process at once', async () => {
  const owner = newProcess();
  await owner.tell({ do: 'open' });
  await owner.kill();
  expect(statSync(join(directory, 'owner.sock')).isSocket()).toBe(true);
  const store = newStore();
  await store.open();
  await expect(newStore().open()).rejects.toMatchObject(IN_USE);
  await store.close();
  expect(existsSync(join(directory, 'owner.sock'))).toBe(false);
});

it('guards directories whose path is longer than a socket address', async () => {
  const deep = join(directory, 'd'.repeat(100), 'e'.repeat(100));
  const owner = newProcess(deep);
  expect(await owner.tell({ do: 'open' })).toBeNull();
  await expect(newStore(deep).open()).rejects.toMatchObject(IN_USE);
  await owner.kill();
  const store = newStore(deep);
  await store.open();
  await store.close();
  expect(readdirSync(deep).sort()).toEqual(['data.mdb', 'holdfast.json', 'lock.mdb']);
});

it('fences out a process whose socket was lost: it writes nothing more and does not disturb its successor', async () => {
  const fenced = newStore();
  await fenced.open();
  rmSync(join(directory, 'owner.sock'));
  const successor = newProcess();
  expect(await successor.tell({ do: 'open' })).toBeNull();
  const write = { key: 'a', expect: 'absent' as const, put: 'too late' };
  await expect(fenced.commit(0, [write])).rejects.toMatchObject({ code: 'STORE_IN_USE' });
  expect(await successor.tell(claimOf('successor'))).toMatchObject({ status: 'committed' });
  await expect(fenced.commit(0, [write])).rejects.toMatchObject({ code: 'STORE_IN_USE' });
  await fenced.close();
  await expect(newStore().open()).rejects.toMatchObject(IN_USE);
  expect(((await successor.tell({ do: 'list' })) as Item[]).map((item) => item.key)).toEqual(['claimed']);
});

it('lets exactly one write of several processes that take over the same dead socket at once', async () => {
  for (let round = 0; round < 3; round++) {
    const dead = newProcess();
    await dead.tell({ do: 'open' });
    const [claimed] = (await dead.tell({ do: 'get', keys: ['claimed'] })) as Item[];
    await dead.kill();
    const rivals = [newProcess(), newProcess(), newProcess(), newProcess()];
    await Promise.all(rivals.map((rival) => rival.tell({ do: 'open' })));
    const expected = claimed ? claimed.revision : ('absent' as const);
    const outcomes = await Promise.all(
      rivals.map((rival, n) =>
        rival.tell({ do: 'commit', writes: [{ key: 'claimed', expect: expected, put: `${round}.${n}` }] }),
      ),
    );
    const committed = outcomes.filter((outcome) => (outcome as { status?: string }).status === 'committed');
    expect(committed, JSON.stringify(outcomes)).toHaveLength(1);
    await Promise.all(rivals.map((rival) => rival.kill()));
  }
});

it('does not fence out who has taken the directory over while it was starting', async () => {
  const owner = newProcess();
  await owner.tell({ do: 'open' });
  const [socket, aside] = [join(directory, 'owner.sock'), join(directory, 'owner-0a.sock')];
  renameSync(socket, aside);
  class LateClock extends SystemClock {
    /** Asked between the claim of the directory and the record of the new owner. */
    override wallMs(): number {
      renameSync(aside, socket);
      return super.wallMs();
    }
  }
  await expect(new LmdbStateStore(directory, new LateClock()).open()).rejects.toMatchObject(IN_USE);
  expect(await owner.tell(claimOf('owner'))).toMatchObject({ status: 'committed' });
});

it('does not serve what another process, which took the directory over while it was being made, has made anew', async () => {
  const declare = vi.spyOn(StoreDirectory.prototype, 'declareFormat').mockImplementationOnce(function (
    this: StoreDirectory,
  ) {
    rmSync(join(directory, 'owner.sock'));
    writeFileSync(join(directory, 'owner.sock'), '');
    this.declareFormat();
  });
  await expect(newStore().open()).rejects.toMatchObject(IN_USE);
  declare.mockRestore();
});
