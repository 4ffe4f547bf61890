import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type TestServer } from '../support/server-bootstrap.js';
import { type Blob, blobOf, directoryOf, nodeOf, pull, type TestNode } from './setup.js';

/** What a node does while its process ends; the blob is in the store before, if `isThere`. */
export interface Deed {
  readonly name: string;
  readonly isThere: boolean;
  run(node: TestNode, blob: Blob): Promise<unknown>;
}

export const DEEDS: Deed[] = [
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

/** A store as the deed finds it, and the node that has made it so. */
export async function sceneOf(
  server: TestServer,
  deed: Deed,
): Promise<{ directory: string; blob: Blob; before: TestNode }> {
  const directory = directoryOf();
  const blob = blobOf();
  const before = await nodeOf(server, directory, 'before');
  if (deed.isThere) {
    await pull(before.node, blob);
    await before.node.release(blob.digest);
  }
  return { directory, blob, before };
}

/** Everything under `blobs/` is what its name says. */
export async function expectWhole(directory: string): Promise<void> {
  const blobs = join(directory, 'blobs/sha256');
  for (const name of await readdir(blobs)) {
    const bytes = await readFile(join(blobs, name));
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(name);
  }
}

/** A sweep leaves what the node uses, and nothing of what was begun. */
export async function expectSwept(directory: string, { node, store }: TestNode, blob: Blob): Promise<void> {
  await node.sweep({ leftAfterMs: 0 });
  expect(await store.has(blob.digest)).toBe(true);
  expect(await readdir(join(directory, 'trash'))).toEqual([]);
  expect(await readdir(join(directory, 'deleting'))).toEqual([]);
}
