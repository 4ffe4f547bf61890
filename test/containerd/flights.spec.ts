import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Flights } from '../../src/containerd/flights.js';
import { Markers } from '../../src/containerd/node/markers.js';
import { NodeBlobs } from '../../src/containerd/node/node-blobs.js';
import { NodeRecords } from '../../src/containerd/node/node-records.js';
import { type ServerLink } from '../../src/containerd/node/server-link.js';
import { type LockClient, UnavailableError } from '../../src/client/index.js';
import { type ContentFileSystem, nodeName } from '../../src/content/index.js';
import { FailingCall } from '../content/failing-call.js';
import { type Blob, blobOf, directoryOf, isolating, nodeOf, type TestNode } from '../content/setup.js';
import { type TestServer } from '../support/server-bootstrap.js';

interface World extends TestNode {
  readonly server: TestServer;
  readonly directory: string;
  readonly blobs: NodeBlobs;
  readonly markers: Markers;
  readonly flights: Flights;
}

async function start(
  server?: TestServer,
  disk?: ContentFileSystem,
  directory = directoryOf(),
): Promise<World> {
  server ??= await isolating({ logLevel: 'error' });
  const test = await nodeOf(server, directory, 'a');
  const { node, client } = test;
  const records = await NodeRecords.open(join(directory, 'nodes', nodeName('a')), disk);
  const markers = await Markers.open(join(directory, 'refs'), nodeName('a'), disk);
  const link = {
    call: (task: () => Promise<unknown>) => task(),
    noticed: () => undefined,
    client,
  } as unknown as ServerLink;
  const log = () => undefined;
  const blobs = new NodeBlobs({ node, records, markers, link, log, whenUnreachable: 'proceed' });
  return { ...test, server, directory, blobs, markers, flights: new Flights(node, blobs, link) };
}

/** Happens before the first report of an outcome. Resolves when it has. */
function beforeUnlock(client: LockClient, happening: () => Promise<unknown>): Promise<void> {
  const unlock = client.unlock.bind(client);
  return new Promise((resolve) => {
    client.unlock = async (...args) => {
      client.unlock = unlock;
      await happening().finally(resolve);
      return unlock(...args);
    };
  });
}

describe('a commit whose bytes have their name', () => {
  it.each([
    {
      what: 'the server is gone when it is to be told',
      happens: () => Promise.reject(new UnavailableError('UNAVAILABLE', 'No answer')),
    },
    {
      what: 'the lock was taken away before the server was told',
      happens: ({ server }: World, digest: string) =>
        server.post('/locks/release', { type: 'pull', resource_id: digest, reason: 'test' }),
    },
  ])('succeeds although $what', async ({ happens }) => {
    const world = await start();
    const { client, flights, store, blobs } = world;
    const { ref, digest, bytes } = blobOf();
    const wish = { ref, digest, total: bytes.length };
    const flight = await flights.open(wish, new AbortController().signal);
    const happened = beforeUnlock(client, () => happens(world, digest));
    await flight.write(bytes);
    await happened;
    const must = { digest, total: bytes.length, labels: {} };
    expect(await flight.commit(must)).toEqual({ digest, size: bytes.length });
    await flight.close();
    expect(await store.read(digest, 0, bytes.length)).toEqual(bytes);
    expect(blobs.used(digest)).toMatchObject({ size: bytes.length });
    expect((await client.refs.get(digest)).nodes).toMatchObject([{ nodeId: 'a' }]);
  });
});

describe("whichever call to the disk fails of a node's own files", () => {
  const recordsOf = async ({ directory }: World) =>
    (await NodeRecords.open(join(directory, 'nodes', nodeName('a')))).all();
  const usersOf = async ({ client }: World, digest: string) => (await client.refs.get(digest)).count;
  const never = new AbortController().signal;

  async function write({ flights }: World, { ref, digest, bytes }: Blob): Promise<void> {
    const flight = await flights.open({ ref, digest, total: bytes.length }, never);
    try {
      await flight.write(bytes);
      await flight.commit({ digest, total: bytes.length, labels: {} });
    } finally {
      await flight.close();
    }
  }

  /** With each call in turn, until the deed makes no more. */
  async function eachCall(deed: (disk: FailingCall, call: number, server: TestServer) => Promise<void>) {
    const server = await isolating({ logLevel: 'error' });
    let call = 0;
    for (let hasFailed = true; hasFailed;) {
      const disk = new FailingCall();
      await deed(disk, ++call, server);
      hasFailed = disk.hasFailed;
    }
    expect(call).toBeGreaterThan(4);
  }

  it('a write is whole, or nothing when the next process has cleared up', () =>
    eachCall(async (disk, call, server) => {
      const world = await start(server, disk);
      const blob = blobOf();
      disk.fail(call);
      const isDone = await write(world, blob).then(
        () => true,
        () => false,
      );
      if (isDone) {
        expect(await recordsOf(world)).toMatchObject([{ digest: blob.digest, state: 'used' }]);
        expect(await usersOf(world, blob.digest)).toBe(1);
        expect(await world.store.has(blob.digest)).toBe(true);
        return;
      }
      await (await start(server, undefined, world.directory)).blobs.reconcile();
      expect(await recordsOf(world)).toEqual([]);
      expect(await usersOf(world, blob.digest)).toBe(0);
      expect(await world.store.has(blob.digest)).toBe(false);
    }));

  it('what is given up is gone, or is asked for again', () =>
    eachCall(async (disk, call, server) => {
      const world = await start(server, disk);
      const blob = blobOf();
      await write(world, blob);
      disk.fail(call);
      const isDone = await world.blobs.giveUp(blob.digest).then(
        () => true,
        () => false,
      );
      const used = world.blobs.listed().filter(({ state }) => state === 'used');
      expect((await recordsOf(world)).filter(({ state }) => state === 'used').length).toBe(used.length);
      if (!isDone && world.blobs.listed().length > 0) await world.blobs.giveUp(blob.digest);
      expect(world.blobs.listed()).toEqual([]);
      expect(await usersOf(world, blob.digest)).toBe(0);
      expect(await world.store.has(blob.digest)).toBe(false);
      const left = await recordsOf(world);
      if (left.length > 0) expect(left).toMatchObject([{ state: 'leaving' }]);
    }));
});
