import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Flights } from '../../src/containerd/flights.js';
import { Markers } from '../../src/containerd/node/markers.js';
import { NodeBlobs } from '../../src/containerd/node/node-blobs.js';
import { NodeRecords } from '../../src/containerd/node/node-records.js';
import { type ServerLink } from '../../src/containerd/node/server-link.js';
import { type LockClient, UnavailableError } from '../../src/client/index.js';
import { nodeName } from '../../src/content/index.js';
import { blobOf, directoryOf, isolating, nodeOf, type TestNode } from '../content/setup.js';
import { type TestServer } from '../support/server-bootstrap.js';

interface World extends TestNode {
  readonly server: TestServer;
  readonly blobs: NodeBlobs;
  readonly markers: Markers;
  readonly flights: Flights;
}

async function start(): Promise<World> {
  const server = await isolating({ logLevel: 'error' });
  const directory = directoryOf();
  const test = await nodeOf(server, directory, 'a');
  const { node, client } = test;
  const records = await NodeRecords.open(join(directory, 'nodes', nodeName('a')));
  const markers = await Markers.open(join(directory, 'refs'), nodeName('a'));
  const link = { call: (task: () => Promise<unknown>) => task(), client } as unknown as ServerLink;
  const log = () => undefined;
  const blobs = new NodeBlobs({ node, records, markers, link, log, whenUnreachable: 'proceed' });
  return { ...test, server, blobs, markers, flights: new Flights(node, blobs, link) };
}

/** Happens before the first report of an outcome. */
function beforeUnlock(client: LockClient, happening: () => Promise<unknown>): void {
  const unlock = client.unlock.bind(client);
  client.unlock = async (...args) => {
    client.unlock = unlock;
    await happening();
    return unlock(...args);
  };
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
    await flight.write(bytes);
    beforeUnlock(client, () => happens(world, digest));
    const must = { digest, total: bytes.length, labels: {} };
    expect(await flight.commit(must)).toEqual({ digest, size: bytes.length });
    await flight.close();
    expect(await store.read(digest, 0, bytes.length)).toEqual(bytes);
    expect(blobs.used(digest)).toMatchObject({ size: bytes.length });
    expect((await client.refs.get(digest)).nodes).toMatchObject([{ nodeId: 'a' }]);
  });
});
