import { expect, it } from 'vitest';
import { blobOf, directoryOf, isolating, nodeOf, pull } from './setup.js';

it('fetches once for all nodes, counts them all, and deletes when nobody uses it', async () => {
  const server = await isolating();
  const directory = directoryOf();
  const blob = blobOf();
  const nodes = await Promise.all(['a', 'b', 'c'].map((name) => nodeOf(server, directory, name)));
  const outcomes = await Promise.all(nodes.map(({ node }) => pull(node, blob)));
  expect(outcomes.toSorted()).toEqual(['fetched', 'skipped', 'skipped']);
  for (const { node, store } of nodes) {
    expect(await node.uses(blob.digest)).toBe(true);
    expect(await store.read(blob.digest, 0, 2000)).toEqual(blob.bytes);
  }
  const [first] = nodes;
  await expect(first!.node.delete(blob.digest)).rejects.toMatchObject({ code: 'IN_USE' });
  for (const { node } of nodes) await node.release(blob.digest);
  expect(await first!.node.delete(blob.digest)).toBe(true);
  expect(await first!.store.info(blob.digest)).toBeUndefined();
});

it('asks the source for nothing where an overtaken commit has left all the bytes', async () => {
  const server = await isolating();
  const { node, store } = await nodeOf(server, directoryOf());
  const { ref, digest, bytes } = blobOf();
  const { writer } = await node.openWriter(ref, digest, bytes.length);
  await writer!.write(bytes);
  await server.post('/locks/release', { type: 'pull', resource_id: digest, reason: 'it was silent' });
  await expect(writer!.commit()).rejects.toMatchObject({ code: 'STALE' });
  const fill = async () => {
    throw new Error('416: there is no more');
  };
  expect(await node.pull(ref, digest, bytes.length, fill)).toEqual({ skipped: false });
  expect(await store.read(digest, 0, 2000)).toEqual(bytes);
});

it('begins anew where what was left is as long as the blob but is not it', async () => {
  const { node, store } = await nodeOf(await isolating(), directoryOf());
  const blob = blobOf();
  const { ref, digest, bytes } = blob;
  const left = await store.begin({ ref, digest, total: bytes.length, nodeId: 'n1', token: 1 });
  await left.write(Buffer.alloc(bytes.length));
  await left.close();
  expect(await pull(node, blob)).toBe('fetched');
  expect(await store.read(digest, 0, 2000)).toEqual(bytes);
});
