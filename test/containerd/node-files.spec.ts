import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Markers } from '../../src/containerd/node/markers.js';
import { type NodeRecord, NodeRecords } from '../../src/containerd/node/node-records.js';
import { FaultyDisk } from '../content/faulty-disk.js';
import { directoryOf } from '../content/setup.js';

/** A node's own files, on a disk that forgets what was not synced. */

const HEX = 'a'.repeat(64);
const DIGEST = `sha256:${HEX}`;
const RECORD: NodeRecord = {
  digest: DIGEST,
  state: 'used',
  size: 1,
  createdAtMs: 1,
  updatedAtMs: 1,
  labels: {},
};

describe('survives a power cut', () => {
  it('a record, with the directories that were made for it', async () => {
    const directory = join(directoryOf(), 'nodes', 'a');
    const disk = new FaultyDisk();
    await (await NodeRecords.open(directory, disk)).put(RECORD);
    await disk.powerCut();
    expect((await NodeRecords.open(directory)).all()).toEqual([RECORD]);
  });

  it('a record in a directory that another process had made and not synced', async () => {
    const directory = join(directoryOf(), 'nodes', 'a');
    const disk = new FaultyDisk();
    await disk.mkdir(dirname(directory), { recursive: true });
    await disk.open(dirname(dirname(directory)), 'r').then(async (file) => {
      await file.sync();
      await file.close();
    });
    await disk.mkdir(directory, { recursive: false });
    await (await NodeRecords.open(directory, disk)).put(RECORD);
    await disk.powerCut();
    expect((await NodeRecords.open(directory)).all()).toEqual([RECORD]);
  });

  it.each(['made by itself', 'made by another'])('a marker in a directory that was %s', async (made) => {
    const directory = join(directoryOf(), 'refs');
    const disk = new FaultyDisk();
    const markers = await Markers.open(directory, 'a', disk);
    if (made === 'made by another') await disk.mkdir(join(directory, HEX), { recursive: false });
    await markers.set(DIGEST);
    await disk.powerCut();
    expect(await (await Markers.open(directory, 'b')).nodes(DIGEST)).toEqual(['a']);
  });
});

describe('a marker', () => {
  it('is set although its directory goes with the marker of another node in that moment', async () => {
    const directory = join(directoryOf(), 'refs');
    const disk = new FaultyDisk();
    const markers = await Markers.open(directory, 'a', disk);
    let isRaced = false;
    disk.onStep = async (name) => {
      if (isRaced || !name.startsWith('create')) return;
      isRaced = true;
      await rmdir(join(directory, HEX));
    };
    await markers.set(DIGEST);
    expect(isRaced).toBe(true);
    expect(await markers.nodes(DIGEST)).toEqual(['a']);
  });

  it('that a killed process has left half-written goes at the next start of its node, and nothing else does', async () => {
    const directory = join(directoryOf(), 'refs');
    const [left, other] = [join(directory, HEX), join(directory, 'b'.repeat(64))];
    for (const path of [left, other]) mkdirSync(path, { recursive: true });
    writeFileSync(join(left, '.a.0123456789ab'), '');
    for (const name of ['.a.0123456789ab', '.b.0123456789ab', 'a', '.nfs0001'])
      writeFileSync(join(other, name), '');
    const markers = await Markers.open(directory, 'a');
    expect(readdirSync(directory)).toEqual(['b'.repeat(64)]);
    expect(readdirSync(other).toSorted()).toEqual(['.b.0123456789ab', '.nfs0001', 'a']);
    expect(await markers.own()).toEqual([`sha256:${'b'.repeat(64)}`]);
  });
});
