import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, type Node, type PushedImage } from '../support/containerd/cluster.js';
import { blobsOf } from '../support/registry/image.js';

const KB = 1024;
const LAYERS = [300 * KB, 1500 * KB, 5 * KB, 700 * KB];

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 4 });
}, 120_000);
afterAll(() => cluster?.destroy());

/** All at once; every node has the whole image afterwards, and every blob has left the registry once. */
async function race(nodes: readonly Node[], image: PushedImage): Promise<void> {
  await Promise.all(nodes.map(({ containerd }) => containerd.fetch(image).succeeded()));
  const complete = await Promise.all(nodes.map(({ containerd }) => containerd.isComplete(image)));
  expect(complete).toEqual(nodes.map(() => true));
  await expectOneFetchEach(image);
}

async function expectOneFetchEach(image: PushedImage): Promise<void> {
  const fetches = (await cluster.registry.accessLog()).fetchesByDigest(image.name);
  expect([...fetches].sort()).toEqual(
    blobsOf(image.image)
      .map(({ digest }) => [digest, 1])
      .sort(),
  );
}

describe('several containerds pull one image at once', () => {
  it('two of them, again and again', async () => {
    for (let n = 0; n < 12; n++) await race(cluster.nodes.slice(0, 2), await cluster.push(LAYERS));
  });

  it('four of them, again and again', async () => {
    for (let n = 0; n < 10; n++) await race(cluster.nodes, await cluster.push(LAYERS));
  });

  it('two namespaces of one of them', async () => {
    const { containerd } = cluster.nodes[0]!;
    for (let n = 0; n < 3; n++) {
      const image = await cluster.push(LAYERS);
      await Promise.all(['one', 'two'].map((name) => containerd.fetch(image, name).succeeded()));
      expect(await containerd.isComplete(image, 'one')).toBe(true);
      expect(await containerd.isComplete(image, 'two')).toBe(true);
      await expectOneFetchEach(image);
    }
  });
});
