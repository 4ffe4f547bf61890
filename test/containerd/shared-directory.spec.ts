import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CODE } from '../../src/containerd/grpc/rpc-error.js';
import { ContentError, ContentStore } from '../../src/content/index.js';
import { ServedNode } from '../support/containerd/served-node.js';
import { digestOf } from '../support/registry/image.js';
import { ServerProcess, START_TIMEOUT_MS } from '../support/server-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** What a node's own files in the shared directory do when the disk is full, or others have been at it. */

const disk = vi.hoisted(() => ({ isFull: false }));
vi.mock('../../src/containerd/node/durable-file.js', async (original) => {
  const real = await original<typeof import('../../src/containerd/node/durable-file.js')>();
  const writeDurably: typeof real.writeDurably = async (path, ...rest) => {
    if (disk.isFull) throw new ContentError('NO_SPACE', `No space left writing ${path}`);
    await real.writeDurably(path, ...rest);
  };
  return { ...real, writeDurably };
});

let server: ServerProcess;
let directory: string;
let root: string;
let node: ServedNode;

beforeEach(async () => {
  directory = temporaryDirectory();
  server = await ServerProcess.start({ LOCK_ISOLATION: 'resource' });
  node = await ServedNode.start(directory, server.url);
  root = node.root;
}, START_TIMEOUT_MS);
afterEach(async () => {
  disk.isFull = false;
  await node.stop();
  await server.remove();
  rmSync(directory, { recursive: true, force: true });
});

const store = (bytes = randomBytes(1000)) => node.store(bytes);

const blobPath = (digest: string) => join(root, 'blobs', 'sha256', digest.slice('sha256:'.length));
const records = () => join(root, 'nodes', readdirSync(join(root, 'nodes'))[0]!);

describe('a full disk', () => {
  it('refuses what is new, and lets containerd make room', async () => {
    const digest = await store();
    disk.isFull = true;
    await expect(store()).rejects.toMatchObject({ code: CODE.resourceExhausted });
    await node.client.delete(digest);
    expect(existsSync(blobPath(digest))).toBe(false);
    await expect(node.client.info(digest)).rejects.toMatchObject({ code: CODE.notFound });
    disk.isFull = false;
    await node.stop();
    await node.startAgain();
    expect(await node.client.list()).toEqual([]);
  });
});

describe('a disk that was full', () => {
  it('is forgotten: what could not be written then is written and given up as usual', async () => {
    const bytes = randomBytes(1000);
    disk.isFull = true;
    await expect(store(bytes)).rejects.toMatchObject({ code: CODE.resourceExhausted });
    disk.isFull = false;
    const digest = await store(bytes);
    await node.client.delete(digest);
    expect(existsSync(blobPath(digest))).toBe(false);
  });
});

describe('a blob that was read', () => {
  /** Of this process, in which the plugin runs. One that is closed meanwhile is not open. */
  const openBlobs = () => {
    const paths = readdirSync('/proc/self/fd').map((fd) => {
      try {
        return readlinkSync(join('/proc/self/fd', fd), 'utf8');
      } catch {
        return '';
      }
    });
    return paths.filter((path) => path.startsWith(join(root, 'blobs')));
  };

  it('is closed when it is given up, although another node uses it', async () => {
    const digest = await store();
    await node.client.read(digest);
    expect(openBlobs()).toEqual([blobPath(digest)]);
    await server.post('/refcounts/add', { resource_id: digest, node_id: 'b' });
    await node.client.delete(digest);
    expect(existsSync(blobPath(digest))).toBe(true);
    await expect.poll(openBlobs).toEqual([]);
  });

  it('and was too short is read anew when another node has repaired it', async () => {
    const bytes = randomBytes(1000);
    const digest = await store(bytes);
    truncateSync(blobPath(digest), 10);
    await expect(node.client.read(digest)).rejects.toMatchObject({ code: CODE.internal });
    writeFileSync(join(root, 'repaired'), bytes);
    renameSync(join(root, 'repaired'), blobPath(digest));
    expect(await node.client.read(digest)).toEqual(bytes);
  });
});

describe('a download that was left', () => {
  it('goes a day later at the start of any node, one that was left later does not', async () => {
    const others = ['gone', 'idle'].map((nodeId) => ({ nodeId, digest: digestOf(randomBytes(10)) }));
    const shared = await ContentStore.open(root);
    for (const { nodeId, digest } of others)
      await (
        await shared.begin({ ref: `demo/1/layer-${digest}`, nodeId, digest, total: 10, token: 1 })
      ).close();
    const data = readdirSync(join(root, 'ingest'), { recursive: true, encoding: 'utf8' });
    const left = data.find((path) => path.startsWith('gone-') && path.endsWith('data'));
    const longAgo = Date.now() / 1000 - 25 * 60 * 60;
    utimesSync(join(root, 'ingest', left!), longAgo, longAgo);
    await node.stop();
    await node.startAgain();
    expect(await shared.statuses('gone')).toEqual([]);
    expect(await shared.statuses('idle')).toHaveLength(1);
  });
});

describe('files that are not ours', () => {
  it('in refs/ do not keep a node from starting', async () => {
    const digest = await store();
    await node.stop();
    mkdirSync(join(root, 'refs'), { recursive: true });
    writeFileSync(join(root, 'refs', '.nfs0001'), 'x');
    await node.startAgain();
    expect((await node.client.info(digest)).digest).toBe(digest);
  });

  it.each(['{"dig', '{}', 'null'])('a record that reads %s is named', async (text) => {
    await store();
    await node.stop();
    const path = join(records(), 'c'.repeat(64));
    writeFileSync(path, text);
    await expect(node.startAgain()).rejects.toThrow(`${path} is damaged: remove it`);
    rmSync(path);
    await node.startAgain();
  });
});
