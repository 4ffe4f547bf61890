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
