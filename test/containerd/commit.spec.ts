import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CODE } from '../../src/containerd/grpc/rpc-error.js';
import { nodeName } from '../../src/content/index.js';
import { proxyOf } from '../client/setup.js';
import { directoryOf, isolating } from '../content/setup.js';
import { type WriteConversation } from '../support/containerd/content-client.js';
import { ServedNode } from '../support/containerd/served-node.js';
import { stoppedDelete } from '../support/containerd/stopped-delete.js';
import { digestOf } from '../support/registry/image.js';
import { type TestServer } from '../support/server-bootstrap.js';
import { type TcpProxy } from '../support/tcp-proxy.js';

/** What containerd asks for inside its one write transaction, and whom that may keep waiting. */

/** A second is what a commit may wait; the rest is for a busy machine. The client itself gives up after 40. */
const PROMPTLY_MS = 3000;

let server: TestServer;
let proxy: TcpProxy;
let node: ServedNode;
let bytes: Buffer;
let digest: string;

beforeEach(async () => {
  server = await isolating({ logLevel: 'error' });
  proxy = await proxyOf(server);
  bytes = randomBytes(1000);
  digest = digestOf(bytes);
});

afterEach(async () => {
  thaw();
  await node.stop();
});

async function serve(whenUnreachable: 'proceed' | 'fail' = 'proceed'): Promise<void> {
  node = await ServedNode.start(directoryOf(), proxy.url, { whenUnreachable });
}

/** A ref of a pull, which names the digest. */
const announcing = () => `demo/1/layer-${digest}`;

/** Up to its last byte, and to the message after it. A ref that names no digest is told it by COMMIT. */
async function written(ref = announcing()): Promise<WriteConversation> {
  const writing = node.client.write();
  await writing.ask({ action: 0, ref, total: bytes.length });
  await writing.stat();
  await writing.write(0, bytes);
  await writing.stat();
  return writing;
}

/** The server takes connections, and answers nothing. */
function hang(): void {
  proxy.modeOf = () => 'half-open';
  proxy.freeze();
}

function thaw(): void {
  proxy.modeOf = () => 'pass';
  proxy.cut();
}

/** What came of it, within the time that containerd may be kept. */
const promptly = <T>(task: Promise<T>, ms = PROMPTLY_MS): Promise<T | 'is kept waiting'> =>
  Promise.race([task, delay(ms, 'is kept waiting' as const)]);

const done = () => expect.objectContaining({ digest, offset: bytes.length });
const failing = (code: number) => expect.objectContaining({ code });
const isMarked = () => existsSync(join(node.root, 'refs', digest.slice('sha256:'.length), nodeName('a')));

async function expectToBeCounted(): Promise<void> {
  const users = async () => (await server.get(`/refcounts?resource_id=${digest}`)).body.nodes;
  await expect.poll(users, { timeout: 10_000 }).toMatchObject([{ node_id: 'a' }]);
  await expect.poll(() => isMarked()).toBe(false);
  expect(await node.client.read(digest)).toEqual(bytes);
}

/** Of another node, which holds it until it is told to go on. */
async function heldDelete(): Promise<{ giveUp: () => Promise<unknown> }> {
  const key = { type: 'delete', resource_id: digest, node_id: 'b' };
  expect((await server.lock(key)).body).toMatchObject({ acquired: true });
  return { giveUp: () => server.post('/unlock', { ...key, success: false, error: 'in use' }) };
}

describe('a commit of what was announced', () => {
  it('asks the server nothing: one that hangs is not noticed', async () => {
    await serve();
    const writing = await written();
    hang();
    expect(await promptly(writing.commit(bytes.length, digest))).toEqual(done());
    thaw();
    await expectToBeCounted();
  });

  it('asks nothing either where all bytes were left by an earlier try', async () => {
    await serve();
    const ref = announcing();
    const earlier = node.client.write();
    await earlier.ask({ action: 0, ref, total: 1001 });
    await earlier.write(0, bytes);
    earlier.cancel();
    const writing = await opened(ref);
    expect(await writing.stat()).toMatchObject({ offset: bytes.length });
    hang();
    expect(await promptly(writing.commit(bytes.length, digest))).toEqual(done());
  });

  it('that is something else is refused although the server hangs', async () => {
    await serve();
    const writing = node.client.write();
    await writing.ask({ action: 0, ref: announcing(), total: bytes.length });
    await writing.write(0, randomBytes(bytes.length));
    hang();
    const refused = writing.commit(bytes.length, digest).catch((error: unknown) => error);
    expect(await promptly(refused)).toEqual(failing(CODE.failedPrecondition));
  });

  it('comes after the wait for a delete, where the lock was lost and another deletes', async () => {
    await serve();
    const writing = node.client.write();
    await writing.ask({ action: 0, ref: announcing(), total: bytes.length });
    await writing.write(0, bytes.subarray(0, 500));
    await server.post('/locks/release', { type: 'pull', resource_id: digest, reason: 'test' });
    const { giveUp } = await heldDelete();
    const last = writing.write(500, bytes.subarray(500));
    expect(await Promise.race([last, delay(300, 'waits')])).toBe('waits');
    await giveUp();
    expect(await last).toMatchObject({ offset: bytes.length });
    hang();
    expect(await promptly(writing.commit(bytes.length, digest))).toEqual(done());
    thaw();
    await expectToBeCounted();
  });
});

describe('a commit that names what it is', () => {
  it('goes on with a marker while the server hangs, and the server is told later', async () => {
    await serve();
    const writing = await written('demo/import');
    hang();
    expect(await promptly(writing.commit(bytes.length, digest))).toEqual(done());
    expect(isMarked()).toBe(true);
    thaw();
    await expectToBeCounted();
  });

  it('fails while the server hangs where that is wanted, and can be tried again', async () => {
    await serve('fail');
    const writing = await written('demo/import');
    hang();
    const failed = writing.commit(bytes.length, digest).catch((error: unknown) => error);
    expect(await promptly(failed)).toEqual(failing(CODE.unavailable));
    expect(isMarked()).toBe(false);
    thaw();
    const again = await opened('demo/import');
    expect(await again.stat()).toMatchObject({ offset: bytes.length });
    await again.commit(bytes.length, digest);
    await expectToBeCounted();
  });

  it.each(['proceed', 'fail'] as const)(
    'waits for no delete: its marker keeps the blob until it is counted (%s)',
    async (whenUnreachable) => {
      await serve(whenUnreachable);
      const writing = await written('demo/import');
      const { giveUp } = await heldDelete();
      expect(await promptly(writing.commit(bytes.length, digest))).toEqual(done());
      expect(isMarked()).toBe(true);
      await giveUp();
      await expectToBeCounted();
    },
  );
});

describe('a commit that names what another node is deleting', () => {
  /** It is in the store, and nobody uses it. */
  async function leave(): Promise<void> {
    await node.store(bytes);
    await server.post('/refcounts/add', { resource_id: digest, node_id: 'b' });
    await node.client.delete(digest);
    await server.post('/refcounts/release', { resource_id: digest, node_id: 'b' });
  }

  it.each([
    { stops: 'before it looks for markers', comesOf: { code: 'IN_USE' } },
    { stops: 'after that', comesOf: true },
  ] as const)(
    'keeps its bytes, although that one has moved them aside ($stops)',
    async ({ stops, comesOf }) => {
      await serve();
      await leave();
      const writing = await written('demo/import');
      const { goOn, done: deleted } = await stoppedDelete(server, node.root, digest, stops);
      expect(await promptly(writing.commit(bytes.length, digest))).toEqual(done());
      expect(await node.client.read(digest)).toEqual(bytes);
      goOn();
      if (comesOf === true) expect(await deleted).toBe(true);
      else expect(await deleted).toMatchObject(comesOf);
      await expectToBeCounted();
    },
  );
});

describe('a delete', () => {
  it('fails soon while the server hangs, and is done later', async () => {
    await serve();
    await node.store(bytes);
    hang();
    const refused = node.client.delete(digest).catch((error: unknown) => error);
    expect(await promptly(refused, 5000)).toEqual(failing(CODE.unavailable));
    await expect(node.client.info(digest)).rejects.toEqual(failing(CODE.notFound));
    expect(await node.client.list()).toMatchObject([{ digest }]);
    thaw();
    await expect.poll(() => node.client.list(), { timeout: 10_000 }).toEqual([]);
  });
});

describe('an abort', () => {
  it('is answered although the server hangs, and leaves nothing on the way', async () => {
    await serve();
    const ref = announcing();
    const writing = node.client.write();
    await writing.ask({ action: 0, ref, total: bytes.length });
    await writing.write(0, bytes.subarray(0, 500));
    hang();
    expect(await promptly(node.client.abort(ref))).toEqual({});
    thaw();
    await expect.poll(() => node.client.statuses(), { timeout: 10_000 }).toEqual([]);
  });
});

/** When the stream before it is over. */
async function opened(ref: string): Promise<WriteConversation> {
  for (;;) {
    const writing = node.client.write();
    try {
      await writing.ask({ action: 0, ref, total: bytes.length });
      return writing;
    } catch {
      await delay(20);
    }
  }
}
