import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ContentStore } from '../../src/content/index.js';
import { DEEDS, expectWhole } from './deeds.js';
import { FaultyDisk } from './faulty-disk.js';
import { blobOf, directoryOf, isolating, nodeOf, pull } from './setup.js';

it.each(DEEDS.filter(({ name }) => name !== 'a delete'))(
  'what $name was told to have stored is there after a power cut',
  async ({ run, isThere }) => {
    const server = await isolating({ logLevel: 'error' });
    const directory = directoryOf();
    const blob = blobOf();
    if (isThere) await pull((await nodeOf(server, directory, 'before')).node, blob);
    const disk = new FaultyDisk();
    await run(await nodeOf(server, directory, 'victim', { fileSystem: disk }), blob);
    await disk.powerCut();
    await expectWhole(directory);
    const { store } = await nodeOf(server, directory, 'survivor');
    expect(await store.read(blob.digest, 0, blob.bytes.length)).toEqual(blob.bytes);
  },
);

it.each(['made by itself', 'made by another node, which has not synced it'])(
  'a token that was marked is there after a power cut, in a directory that was %s',
  async (made) => {
    const directory = directoryOf();
    const hex = 'a'.repeat(64);
    await ContentStore.open(directory);
    const disk = new FaultyDisk();
    const { tokens } = await ContentStore.open(directory, { fileSystem: disk });
    if (made !== 'made by itself') await disk.mkdir(join(directory, 'tokens', hex), { recursive: false });
    await tokens.mark(hex, 7);
    await disk.powerCut();
    expect(await tokens.highest(hex)).toBe(7);
    await tokens.mark(hex, 8);
    expect(await readdir(join(directory, 'tokens', hex))).toEqual(['8']);
  },
);
