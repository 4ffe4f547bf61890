import { expect, it } from 'vitest';
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
