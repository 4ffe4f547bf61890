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
  await Promise.all(
    nodes.map(({ containerd }) => containerd.ctr('content', 'fetch', '--plain-http', image.ref)),
  );
  for (const { containerd, name } of nodes) {
    const check = await containerd.ctr('images', 'check', `name==${image.ref}`);
    expect(check, name).toContain('complete (');
  }
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
});
