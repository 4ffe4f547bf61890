import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreProcess } from '../support/store-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const SOURCE = join(import.meta.dirname, 'programs/failing-disk.c');
const hasCompiler = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;

let directory: string;
let switchFile: string;
let child: StoreProcess;

beforeEach(() => {
  directory = temporaryDirectory();
  switchFile = join(directory, 'fail');
});
afterEach(async () => {
  await child.kill();
  rmSync(directory, { recursive: true });
});

async function startOnFailingDisk(
  what: 'FAIL_META' | 'FAIL_SYNC' | 'FAIL_JOURNAL' | 'FAIL_DIRECT',
): Promise<number> {
  const library = join(directory, 'failing-disk.so');
  expect(spawnSync('cc', ['-shared', '-fPIC', '-o', library, SOURCE, '-ldl']).status).toBe(0);
  child = new StoreProcess(join(directory, 'state'), { env: { LD_PRELOAD: library, [what]: switchFile } });
  expect(await child.tell({ do: 'open' })).toBeNull();
  return revisionOf(await write('absent', 'before'));
}

async function reopen(): Promise<void> {
  child = new StoreProcess(join(directory, 'state'));
  expect(await child.tell({ do: 'open' })).toBeNull();
}

function revisionOf(outcome: unknown): number {
  expect(outcome).toMatchObject({ status: 'committed' });
  return (outcome as { revision: number }).revision;
}

function write(expected: number | 'absent', value: string): Promise<unknown> {
  return child.tell({ do: 'commit', writes: [{ key: 'a', expect: expected, put: value }] });
}

const read = (): Promise<unknown> => child.tell({ do: 'get', keys: ['a'] });
const REFUSED = {
  code: 'STORE_UNAVAILABLE',
  message: expect.stringContaining('Nothing was written') as string,
};
/** Whoever is told may be asking what became of a commit, which a kill may bring back. */
const UNAVAILABLE = {
  code: 'STORE_UNAVAILABLE',
  message: expect.stringMatching(/^(?!.*Nothing was written).*Make room/) as string,
};

describe.skipIf(!hasCompiler)('a disk that fails (needs a C compiler)', () => {
  it('rejects what could not be written, keeps what was there, and goes on when the disk does', async () => {
    const revision = await startOnFailingDisk('FAIL_META');
    writeFileSync(switchFile, '');
    expect(await write(revision, 'lost')).toEqual(REFUSED);
    // By now the database cannot be read either: who cannot see whose it is does not know what became of a commit.
    for (let n = 0; n < 3; n++)
      expect(await write(revision, 'lost')).not.toMatchObject({ status: 'committed' });
    expect(await write(revision, 'lost')).toEqual(UNAVAILABLE);
    rmSync(switchFile);
    expect(await read()).toEqual([{ key: 'a', revision, value: 'before' }]);
    expect(await write(revision, 'after')).toMatchObject({ status: 'committed' });
    expect(await read()).toMatchObject([{ value: 'after' }]);
    expect(await child.tell({ do: 'close' })).toBeNull();
  });

  it('never brings back what it has rejected, though all of it has reached the disk', async () => {
    const revision = await startOnFailingDisk('FAIL_JOURNAL');
    writeFileSync(switchFile, '');
    expect(await write(revision, 'lost')).toEqual(REFUSED);
    await child.kill();
    await reopen();
    expect(await read()).toEqual([{ key: 'a', revision, value: 'before' }]);
  });

  it('does not know what became of a commit that could not be flushed, and decides before it goes on', async () => {
    const revision = await startOnFailingDisk('FAIL_SYNC');
    writeFileSync(switchFile, '');
    expect(await write(revision, 'perhaps')).toMatchObject({ status: 'unknown' });
    expect(await write(revision, 'perhaps')).toEqual(UNAVAILABLE);
    expect(await read()).toEqual(UNAVAILABLE);
    rmSync(switchFile);
    expect(await read()).toEqual([{ key: 'a', revision, value: 'before' }]);
    const after = await write(revision, 'after');
    expect(after).toMatchObject({ status: 'committed' });
    await child.kill();
    await reopen();
    expect(await read()).toEqual([{ key: 'a', revision: revisionOf(after), value: 'after' }]);
  });

  it('may bring back a commit of which it did not know, whole and at its own revision, if it is killed before it has decided', async () => {
    const revision = await startOnFailingDisk('FAIL_SYNC');
    writeFileSync(switchFile, '');
    expect(await write(revision, 'perhaps')).toMatchObject({ status: 'unknown' });
    await child.kill();
    await reopen();
    expect(await read()).toEqual([{ key: 'a', revision: revision + 1, value: 'perhaps' }]);
    expect(revisionOf(await write(revision + 1, 'after'))).toBeGreaterThan(revision + 1);
  });

  it.each(['never', 'no longer'])('may be one that can %s write past the page cache', async (since) => {
    if (since === 'never') writeFileSync(switchFile, '');
    const before = await startOnFailingDisk('FAIL_DIRECT');
    writeFileSync(switchFile, '');
    const after = revisionOf(await write(before, 'after'));
    await child.kill();
    await reopen();
    expect(await read()).toEqual([{ key: 'a', revision: after, value: 'after' }]);
  });
});
