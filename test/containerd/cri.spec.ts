import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cluster, type PushedImage } from '../support/containerd/cluster.js';
import { CANNOT_UNPACK } from '../support/containerd/containerd-server.js';
import { CriClient } from '../support/containerd/cri-client.js';
import { blobsOf } from '../support/registry/image.js';

const KB = 1024;

let cluster: Cluster;
let kubelets: CriClient[];
/** A kubelet's pull unpacks. */
let refusal: string | undefined;
beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 2, cri: true });
  kubelets = cluster.nodes.map(({ containerd }) => new CriClient(containerd.socket));
  const { ref } = await cluster.push([KB]);
  await kubelets[0]!.pull(ref).catch(({ message }: Error) => {
    if (!CANNOT_UNPACK.test(message)) throw new Error(message);
    refusal = message;
  });
}, 120_000);
beforeEach(({ skip }) => skip(refusal !== undefined, `this machine cannot unpack: ${refusal}`));
afterAll(async () => {
  for (const kubelet of kubelets ?? []) kubelet.close();
  await cluster?.destroy();
});

async function fetches({ name }: PushedImage): Promise<(readonly [string, number])[]> {
  return [...(await cluster.registry.accessLog()).fetchesByDigest(name)].sort();
}

describe('the kubelets of two nodes pull one image at once', () => {
  it('and each blob leaves the registry once; both have it unpacked', async () => {
    for (let n = 0; n < 3; n++) {
      const image = await cluster.push([300 * KB, 1500 * KB]);
      const ids = await Promise.all(kubelets.map((kubelet) => kubelet.pull(image.ref)));
      const { config } = image.image;
      expect(ids).toEqual([config.digest, config.digest]);
      for (const kubelet of kubelets) expect(await kubelet.tags()).toContain(image.ref);
      expect(await fetches(image)).toEqual(
        blobsOf(image.image)
          .map(({ digest }) => [digest, 1])
          .sort(),
      );
    }
  });

  it('and the image of one stays when the other removes it; the last one takes the bytes', async () => {
    const image = await cluster.push([300 * KB]);
    const [layer] = image.image.layers;
    const [one, two] = kubelets as [CriClient, CriClient];
    await Promise.all([one.pull(image.ref), two.pull(image.ref)]);
    await one.remove(image.ref);
    await expect.poll(() => cluster.references(layer!.digest), { timeout: 20_000 }).toEqual(['node-2']);
    expect(await one.tags()).not.toContain(image.ref);
    expect(await cluster.nodes[1]!.containerd.isComplete(image, 'k8s.io')).toBe(true);
    await two.remove(image.ref);
    await expect.poll(() => cluster.blobs(), { timeout: 20_000 }).not.toContain(layer!.digest);
  });
});
