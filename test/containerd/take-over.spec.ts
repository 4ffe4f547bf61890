import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Ctr } from '../support/containerd/containerd-server.js';
import { Cluster, type Node, type PushedImage } from '../support/containerd/cluster.js';

const MB = 1024 * 1024;
const SETUP_MS = 30_000;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 3, environment: { SESSION_TTL_MS: '2000' } });
}, 120_000);
afterAll(() => cluster?.destroy());

let image: PushedImage;
let layer: string;
let worker: Node;
let others: Node[];
let pulls: Ctr[];

/** The first node is in the middle of the layer, the others stand in line for it. */
beforeEach(async () => {
  image = await cluster.push([4 * MB]);
  layer = image.image.layers[0]!.digest;
  [worker, ...others] = cluster.nodes as [Node, ...Node[]];
  cluster.link.bytesPerSecond = 2 * MB;
  const first = worker.containerd.fetch(image);
  await cluster.untilDownloaded(1.5 * MB);
  pulls = [first, ...others.map(({ containerd }) => containerd.fetch(image))];
  await cluster.untilQueued(layer, 2);
  expect(await cluster.holderOf(layer)).toBe(worker.name);
}, SETUP_MS);
afterEach(async () => {
  cluster.link.bytesPerSecond = Infinity;
  for (const pull of pulls) await pull.kill();
});

async function expectAllComplete(): Promise<void> {
  for (const pull of pulls.slice(1)) await pull.succeeded();
  await worker.containerd.fetch(image).succeeded();
  for (const { containerd } of cluster.nodes) expect(await containerd.isComplete(image)).toBe(true);
  expect(await cluster.references(layer)).toEqual(['node-1', 'node-2', 'node-3']);
}

/** How often the layer was asked for, and how many of its bytes were sent. */
async function fetches(): Promise<number> {
  const log = await cluster.registry.accessLog();
  return log.fetchesByDigest(image.name).get(layer) ?? 0;
}

describe('the downloading node fails in the middle of a layer, another takes over', () => {
  it('its ctr is killed', async () => {
    await pulls[0]!.kill();
    await expectAllComplete();
    expect(await fetches()).toBe(2);
  });

  it('its containerd is killed', async () => {
    await worker.containerd.kill();
    for (const pull of pulls.slice(1)) await pull.succeeded();
    await pulls[0]!.kill();
    await worker.containerd.startAgain();
    await expectAllComplete();
    expect(await fetches()).toBe(2);
  });

  it('its plugin is killed', async () => {
    await worker.plugin.end('SIGKILL');
    for (const pull of pulls.slice(1)) await pull.succeeded();
    await pulls[0]!.kill();
    await cluster.startPluginAgain(worker);
    await expectAllComplete();
    expect(await fetches()).toBe(2);
  });

  it('its plugin is told to stop: at once', async () => {
    const before = Date.now();
    expect(await worker.plugin.end('SIGTERM')).toBe(0);
    expect(Date.now() - before).toBeLessThan(5000);
    for (const pull of pulls.slice(1)) await pull.succeeded();
    await pulls[0]!.kill();
    await cluster.startPluginAgain(worker);
    await expectAllComplete();
    expect(await fetches()).toBe(2);
  });

  it('its plugin is stopped for longer than its session lives: it goes on without the lock', async () => {
    worker.plugin.signal('SIGSTOP');
    for (const pull of pulls.slice(1)) await pull.succeeded();
    worker.plugin.signal('SIGCONT');
    await pulls[0]!.succeeded();
    await expectAllComplete();
    expect(await fetches()).toBe(2);
  });
});

describe('while a node waits', () => {
  it('its containerd goes on with other work', async () => {
    const { containerd } = others[0]!;
    await containerd.ctr('namespaces', 'create', 'beside');
    await containerd.ctr('namespaces', 'label', 'beside', 'a=b');
    expect(await cluster.holderOf(layer)).toBe(worker.name);
    expect(pulls[1]!.isRunning).toBe(true);
    await expectAllComplete();
  });

  it('its pull can be given up', async () => {
    await pulls[1]!.kill();
    pulls.splice(1, 1);
    await pulls[0]!.succeeded();
    await others[0]!.containerd.fetch(image).succeeded();
    await expectAllComplete();
    expect(await fetches()).toBe(1);
  });
});

describe('an interrupted download', () => {
  it('is resumed where it stopped', async () => {
    for (const pull of pulls) await pull.kill();
    const { containerd } = worker;
    await cluster.registry.forget();
    await containerd.fetch(image).succeeded();
    expect(await containerd.isComplete(image)).toBe(true);
    const log = await cluster.registry.accessLog();
    const again = log.blobFetches(image.name).find(({ digest }) => digest === layer);
    expect(again?.status).toBe(206);
    expect(again?.bytes).toBeLessThan(4 * MB);
  });
});
