import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type TestServer, until } from '../support/server-bootstrap.js';
import { FaultyDisk } from './faulty-disk.js';
import { type Blob, blobOf, directoryOf, isolating, nodeOf, pull, type TestNode } from './setup.js';

/** What a node does while its process ends; the blob is in the store before, if `isThere`. */
interface Deed {
  readonly name: string;
  readonly isThere: boolean;
  run(node: TestNode, blob: Blob): Promise<unknown>;
}

const DEEDS: Deed[] = [
  { name: 'a pull', isThere: false, run: ({ node }, blob) => pull(node, blob) },
  {
    name: 'a resumed pull',
    isThere: false,
    run: async ({ node }, blob) => {
      const { writer } = await node.openWriter(blob.ref, blob.digest, blob.bytes.length);
      await writer!.write(blob.bytes.subarray(0, 600));
      await writer!.close();
      const again = await node.openWriter(blob.ref, blob.digest, blob.bytes.length);
      await again.writer!.write(blob.bytes.subarray(again.writer!.offset));
      await again.writer!.commit();
    },
  },
  {
    name: 'an update',
    isThere: true,
    run: async ({ node }, { ref, digest, bytes }) =>
      node.pull(ref, digest, bytes.length, (writer) => writer.write(bytes), { type: 'update' }),
  },
  {
    name: 'a pull without a digest',
    isThere: false,
    run: async ({ node }, blob) => {
      const { writer } = await node.openWriter(blob.ref, undefined);
      await writer!.write(blob.bytes);
      await writer!.commit();
    },
  },
  { name: 'a delete', isThere: true, run: ({ node }, { digest }) => node.delete(digest) },
];

const ENDS = [
  { name: 'before', after: false, powerCut: false },
  { name: 'after', after: true, powerCut: false },
  { name: 'with the power cut right after', after: true, powerCut: true },
];

/** Everything under `blobs/` is what its name says. */
async function expectWhole(directory: string): Promise<void> {
  const blobs = join(directory, 'blobs/sha256');
  for (const name of await readdir(blobs)) {
    const bytes = await readFile(join(blobs, name));
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(name);
  }
}

/** Runs the deed with the process ending at this step; false if it has fewer steps. */
async function crashing(
  server: TestServer,
  deed: Deed,
  step: number,
  end: (typeof ENDS)[number],
): Promise<boolean> {
  const directory = directoryOf();
  const blob = blobOf();
  const before = await nodeOf(server, directory, 'before');
  if (deed.isThere) {
    await pull(before.node, blob);
    await before.node.release(blob.digest);
  }
  const disk = new FaultyDisk();
  const victim = await nodeOf(server, directory, 'victim', { fileSystem: disk });
  const died = new Promise<void>((resolve) => (disk.onCrash = () => resolve(victim.client.close())));
  disk.crash(step, end.after);
  const outcome = await deed.run(victim, blob).then(
    () => 'done',
    () => 'failed',
  );
  if (disk.isAlive) {
    expect(outcome).toBe('done');
    return false;
  }
  await died;
  if (end.powerCut) await disk.powerCut();
  await expectWhole(directory);

  const survivor = await nodeOf(server, directory, 'survivor');
  await pull(survivor.node, blob);
  expect(await survivor.store.read(blob.digest, 0, blob.bytes.length)).toEqual(blob.bytes);
  await expectWhole(directory);
  await survivor.node.sweep({ leftAfterMs: 0 });
  expect(await survivor.store.has(blob.digest)).toBe(true);
  expect(await readdir(join(directory, 'trash'))).toEqual([]);
  expect(await readdir(join(directory, 'deleting'))).toEqual([]);
  await survivor.client.close();
  return true;
}

it.each(DEEDS.flatMap((deed) => ENDS.map((end) => [deed.name, end.name, deed, end] as const)))(
  '%s whose process ends %s any of its steps leaves nothing half-done, and the next node succeeds',
  async (_deed, _end, deed, end) => {
    const server = await isolating({ logLevel: 'error' });
    let step = 1;
    while (await crashing(server, deed, step, end)) step++;
    expect(step).toBeGreaterThan(8);
    await until(async () => (await server.get('/locks')).body.locks.length === 0);
  },
);

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
