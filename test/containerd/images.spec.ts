import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cluster, type Node, type PushedImage } from '../support/containerd/cluster.js';
import { CANNOT_UNPACK } from '../support/containerd/containerd-server.js';
import { digestOf } from '../support/registry/image.js';

const KB = 1024;

let cluster: Cluster;
let one: Node;
let two: Node;
beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 2, environment: { SESSION_TTL_MS: '3000' } });
  [one, two] = cluster.nodes as [Node, Node];
}, 120_000);
afterAll(() => cluster?.destroy());

let image: PushedImage;
let digests: string[];
beforeEach(async () => {
  image = await cluster.push([200 * KB, 900 * KB]);
  const { manifest, config, layers } = image.image;
  digests = [manifest, config, ...layers].map(({ digest }) => digest);
});

const fetchBoth = () => Promise.all([one, two].map(({ containerd }) => containerd.fetch(image).succeeded()));

/** With garbage collection, waited for. */
const remove = ({ containerd }: Node, { ref }: PushedImage) => containerd.ctr('images', 'rm', '--sync', ref);

async function sha256Of(node: Node, digest: string): Promise<string> {
  const bytes = await node.containerd.start('content', 'get', digest).succeeded();
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

const isStored = (digest: string) => cluster.blobs().includes(digest);

describe('garbage collection on a node', () => {
  it("takes the node's references and leaves others their image; the last one's takes the bytes", async () => {
    await fetchBoth();
    expect(await cluster.references(digests[2]!)).toEqual(['node-1', 'node-2']);
    await remove(one, image);
    for (const digest of digests) expect(await cluster.references(digest)).toEqual(['node-2']);
    expect(await two.containerd.isComplete(image)).toBe(true);
    for (const digest of digests) expect(await sha256Of(two, digest)).toBe(digest);
    expect(await one.containerd.ctr('content', 'ls', '-q')).not.toContain(digests[2]);
    await remove(two, image);
    expect(digests.filter(isStored)).toEqual([]);
    for (const digest of digests) expect(await cluster.references(digest)).toEqual([]);
  });

  it('keeps a layer that another image of the node uses', async () => {
    await one.containerd.fetch(image).succeeded();
    await one.containerd.ctr('images', 'tag', image.ref, 'again:latest');
    await remove(one, image);
    expect(digests.filter(isStored)).toEqual(digests);
    await one.containerd.ctr('images', 'rm', '--sync', 'again:latest');
    expect(digests.filter(isStored)).toEqual([]);
  });

  it('pulls again what it has removed, while another node still has it, without a download', async () => {
    await fetchBoth();
    await remove(one, image);
    await cluster.registry.forget();
    await one.containerd.fetch(image).succeeded();
    expect(await one.containerd.isComplete(image)).toBe(true);
    expect((await cluster.registry.accessLog()).blobFetches(image.name)).toEqual([]);
    expect(await cluster.references(digests[2]!)).toEqual(['node-1', 'node-2']);
  });

  it('on both at once leaves nothing; pulls beside removals never find half an image', async () => {
    await fetchBoth();
    await Promise.all([one, two].map((node) => remove(node, image)));
    expect(digests.filter(isStored)).toEqual([]);
    for (let n = 0; n < 5; n++) {
      await one.containerd.fetch(image).succeeded();
      await Promise.all([remove(one, image), two.containerd.fetch(image).succeeded()]);
      expect(await two.containerd.isComplete(image)).toBe(true);
      for (const digest of digests) expect(await sha256Of(two, digest)).toBe(digest);
      await remove(two, image);
      expect(digests.filter(isStored)).toEqual([]);
    }
  });

  it('survives the death of the plugin: what it uses is known to the next, and collected by it', async () => {
    await fetchBoth();
    await one.plugin.end('SIGKILL');
    await cluster.startPluginAgain(one);
    while (!(await one.containerd.isComplete(image).catch(() => false))) await delay(100);
    for (const digest of digests) expect(await sha256Of(one, digest)).toBe(digest);
    await remove(one, image);
    await remove(two, image);
    expect(digests.filter(isStored)).toEqual([]);
  });
});

describe('content that was not pulled', () => {
  it('is ingested under a ref without a digest, read, and collected', async () => {
    const bytes = randomBytes(300 * KB);
    const digest = digestOf(bytes);
    await one.containerd.feed(bytes, 'content', 'ingest', '--expected-digest', digest, 'my-upload');
    expect(await sha256Of(one, digest)).toBe(digest);
    expect(await cluster.references(digest)).toEqual(['node-1']);
    await one.containerd.ctr('content', 'rm', digest);
    await one.containerd.fetch(image).succeeded();
    await remove(one, image);
    expect(isStored(digest)).toBe(false);
  });

  it('is refused if it is not what was announced, and leaves nothing', async () => {
    const before = cluster.blobs();
    const wrong = `sha256:${'0'.repeat(64)}`;
    const args = ['content', 'ingest', '--expected-digest', wrong, 'bad-upload'];
    await expect(one.containerd.feed(randomBytes(1000), ...args)).rejects.toThrow('expected');
    expect(cluster.blobs()).toEqual(before);
  });
});

describe('an image that was pulled into the shared store', () => {
  it.for(['native', 'overlayfs'])('is unpacked on every node: %s', async (snapshotter, { skip }) => {
    const image = await cluster.push([3000 * KB, 10 * KB]);
    const pull = ['images', 'pull', '--plain-http', '--snapshotter', snapshotter, image.ref];
    const results = await Promise.all(
      cluster.nodes.map(({ containerd }) => containerd.start(...pull).finished),
    );
    const refused = results.find(({ stderr }) => CANNOT_UNPACK.test(stderr));
    skip(refused !== undefined, `this machine cannot unpack with ${snapshotter}: ${refused?.stderr.trim()}`);
    expect(results.map(({ code, stderr }) => (code === 0 ? 'unpacked' : stderr))).toEqual([
      'unpacked',
      'unpacked',
    ]);
    for (const { containerd } of cluster.nodes) {
      const snapshots = join(
        containerd.directory,
        'root',
        `io.containerd.snapshotter.v1.${snapshotter}`,
        'snapshots',
      );
      const layers = readdirSync(snapshots).map((name) =>
        join(snapshots, name, snapshotter === 'native' ? '' : 'fs'),
      );
      expect(layers.some((layer) => existsSync(join(layer, 'layer-0')))).toBe(true);
    }
  });
});
