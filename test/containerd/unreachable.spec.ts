import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, type Node, type PushedImage } from '../support/containerd/cluster.js';

const MB = 1024 * 1024;

let cluster: Cluster;
let one: Node;
let two: Node;
/** Was told to fail where others proceed. */
let strict: Node;
beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 2 });
  [one, two] = cluster.nodes as [Node, Node];
  strict = await cluster.addNode('strict', ['--when-unreachable', 'fail']);
}, 120_000);
afterAll(() => cluster?.destroy());

const layerOf = ({ image }: PushedImage) => image.layers[0]!.digest;

function markersOf(digest: string): string[] {
  try {
    return readdirSync(join(cluster.store, 'refs', digest.slice('sha256:'.length)));
  } catch {
    return [];
  }
}

const fetchCount = async (image: PushedImage) =>
  (await cluster.registry.accessLog()).fetchesByDigest(image.name).get(layerOf(image)) ?? 0;

const remove = ({ containerd }: Node, { ref }: PushedImage) =>
  containerd.start('images', 'rm', '--sync', ref);

describe('when Holdfast cannot be reached', () => {
  it('a restart in the middle of a layer goes unnoticed: one download', async () => {
    const image = await cluster.push([6 * MB]);
    cluster.link.bytesPerSecond = 2 * MB;
    const first = one.containerd.fetch(image);
    await cluster.untilDownloaded(MB);
    const second = two.containerd.fetch(image);
    await cluster.untilQueued(layerOf(image), 1);
    await cluster.server.end('SIGKILL');
    await cluster.server.startAgain();
    await first.succeeded();
    await second.succeeded();
    cluster.link.bytesPerSecond = Infinity;
    expect(await two.containerd.isComplete(image)).toBe(true);
    expect(await fetchCount(image)).toBe(1);
    expect(await cluster.references(layerOf(image))).toEqual(['node-1', 'node-2']);
  });

  it('pulls proceed and leave markers, deletes fail, and all is counted when it is back', async () => {
    const [known, fresh] = [await cluster.push([MB]), await cluster.push([MB])];
    await one.containerd.fetch(known).succeeded();
    await cluster.server.end('SIGKILL');
    await one.containerd.fetch(fresh).succeeded();
    await two.containerd.fetch(fresh).succeeded();
    expect(await fetchCount(fresh)).toBe(1);
    expect(markersOf(layerOf(fresh)).map((name) => name.slice(0, 6))).toEqual(['node-1', 'node-2']);
    await remove(one, known).finished;
    expect(cluster.blobs()).toContain(layerOf(known));

    const waiting = strict.containerd.fetch(fresh);
    await delay(1000);
    expect(waiting.isRunning).toBe(true);

    await cluster.server.startAgain();
    await waiting.succeeded();
    while ((await cluster.references(layerOf(fresh))).length < 3) await delay(50);
    while (markersOf(layerOf(fresh)).length > 0) await delay(50);
    for (const node of [one, two, strict]) await remove(node, fresh).succeeded();
    // What a node gave up while the server was away goes when it has told the server so.
    for (const image of [fresh, known]) while (cluster.blobs().includes(layerOf(image))) await delay(50);
  });

  it('a delete that finds the marker of a node nobody has counted puts the blob back', async () => {
    const image = await cluster.push([MB]);
    await one.containerd.fetch(image).succeeded();
    const markers = join(cluster.store, 'refs', layerOf(image).slice('sha256:'.length));
    mkdirSync(markers, { recursive: true });
    writeFileSync(join(markers, 'node-9'), '');
    await remove(one, image).succeeded();
    expect(cluster.blobs()).toContain(layerOf(image));
    expect(await cluster.references(layerOf(image))).toEqual([]);
  });
});
