import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Ctr } from '../support/containerd/containerd-server.js';
import { Cluster, type Node, type PushedImage } from '../support/containerd/cluster.js';
import { digestOf } from '../support/registry/image.js';

/** containerd has one write transaction: whoever is kept waiting inside it keeps all other writes of the node waiting. */

const MB = 1024 * 1024;
const LAYER_BYTES = 3 * MB;

/** A write of containerd's takes a tenth of a second, most of it to start `ctr`; the rest is for a busy machine. */
const PROMPTLY_MS = 2500;

/** For so long the last bytes are there and nobody goes on. */
const HELD_UP_MS = 4000;

let cluster: Cluster;
let node: Node;
beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 1 });
  node = cluster.nodes[0]!;
}, 120_000);
afterAll(() => cluster?.destroy());

afterEach(() => cluster.server.signal('SIGCONT'));

/** A write of another kind. */
async function expectToBePrompt(...write: readonly string[]): Promise<void> {
  const before = Date.now();
  await node.containerd.ctr(...write);
  expect(Date.now() - before, write.join(' ')).toBeLessThan(PROMPTLY_MS);
}

describe('the last byte of a layer has come', () => {
  let image: PushedImage;
  let layer: string;
  let pull: Ctr;
  let untilAllCame: () => Promise<void>;

  /** The node is in the middle of a layer, under its lock. */
  beforeEach(async () => {
    image = await cluster.push([LAYER_BYTES]);
    layer = image.image.layers[0]!.digest;
    cluster.link.bytesPerSecond = 2 * MB;
    const before = cluster.link.bytes;
    pull = node.containerd.fetch(image);
    await cluster.untilDownloaded(MB);
    expect(await cluster.holderOf(layer)).toBe(node.name);
    untilAllCame = async () => {
      cluster.link.bytesPerSecond = Infinity;
      while (cluster.link.bytes < before + LAYER_BYTES) await delay(20);
    };
  }, 30_000);
  afterEach(async () => {
    cluster.link.bytesPerSecond = Infinity;
    await pull.kill();
  });

  /** Again and again while the pull is held up. */
  async function expectOtherWritesToGoOn(): Promise<void> {
    const name = `beside-${image.name}`;
    const until = Date.now() + HELD_UP_MS;
    await expectToBePrompt('namespaces', 'create', name);
    await expectToBePrompt('leases', 'create', '--id', name);
    while (Date.now() < until) {
      await expectToBePrompt('namespaces', 'label', name, `at=${Date.now()}`);
      expect(pull.isRunning).toBe(true);
      await delay(200);
    }
  }

  async function expectThePullToEndWell(): Promise<void> {
    await pull.succeeded();
    expect(await node.containerd.isComplete(image)).toBe(true);
    expect(await cluster.references(layer)).toEqual([node.name]);
    expect(cluster.blobs()).toContain(layer);
  }

  it('and the server hangs: containerd goes on with its other writes', async () => {
    cluster.server.signal('SIGSTOP');
    await untilAllCame();
    await expectOtherWritesToGoOn();
    cluster.server.signal('SIGCONT');
    await expectThePullToEndWell();
  });

  it('and another deletes the layer since the lock was lost: containerd goes on with its other writes', async () => {
    const { server } = cluster;
    await server.post('/locks/release', { type: 'pull', resource_id: layer, reason: 'test' });
    const key = { type: 'delete', resource_id: layer, node_id: 'another' };
    expect((await server.post('/lock', key)).body).toMatchObject({ acquired: true });
    await untilAllCame();
    await expectOtherWritesToGoOn();
    await server.post('/unlock', { ...key, success: true });
    await expectThePullToEndWell();
  });
});

describe('a blob whose ref names no digest', () => {
  it('is ingested although the server hangs, which keeps no other write waiting, and is counted later', async () => {
    const { containerd } = node;
    const bytes = randomBytes(MB);
    cluster.server.signal('SIGSTOP');
    const ingested = containerd.feed(bytes, 'content', 'ingest', 'by-hand');
    for (let n = 0; n < 5; n++) {
      await expectToBePrompt('leases', 'create', '--id', `beside-${n}`);
      await delay(200);
    }
    await ingested;
    cluster.server.signal('SIGCONT');
    await expect.poll(() => cluster.references(digestOf(bytes)), { timeout: 10_000 }).toEqual([node.name]);
    expect(await containerd.ctr('content', 'ls', '-q')).toContain(digestOf(bytes));
  });
});
