import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { link, mkdir, readdir, readFile, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type BlobInfo, ContentStore } from '../../src/content/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { FaultyDisk } from './faulty-disk.js';
import { type Blob, blobOf, directoryOf, isolating, nodeOf, pull } from './setup.js';

const allowed = async () => undefined;

async function put(store: ContentStore, { bytes, ref }: Blob, replaces = false): Promise<void> {
  const ingest = await store.begin({ ref, nodeId: 'n1', token: 1 });
  await ingest.write(bytes);
  await store.publish(ingest, replaces, allowed);
}

async function listOf(store: ContentStore): Promise<BlobInfo[]> {
  const found: BlobInfo[] = [];
  for await (const info of store.list()) found.push(info);
  return found;
}

/** Read-only for a moment, or without space: what only a file system of its own can be. */
function tinyFileSystem(kilobytes: number): { path: string; remount(options: string): void } {
  const path = directoryOf();
  mountTmpfs(path, kilobytes);
  onTestFinished(() => void execFileSync('umount', ['-l', path]));
  return {
    path,
    remount: (options) => void execFileSync('mount', ['-o', `remount,${options}`, path], { stdio: 'ignore' }),
  };
}

function mountTmpfs(path: string, kilobytes: number): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kilobytes}k`, 'tmpfs', path], { stdio: 'pipe' });
}

function mayMount(): boolean {
  const path = temporaryDirectory();
  try {
    mountTmpfs(path, 4);
    execFileSync('umount', ['-l', path]);
    return true;
  } catch (error) {
    console.warn(`Skipped what needs a file system of its own: ${(error as Error).message.trim()}`);
    return false;
  } finally {
    rmSync(path, { recursive: true });
  }
}

const CANNOT_MOUNT = !mayMount();

describe('ContentStore', () => {
  it('says when an ingest was begun', async () => {
    const store = await ContentStore.open(directoryOf(), { wallMs: () => 1234 });
    const ingest = await store.begin({ ref: 'layer', nodeId: 'n1', token: 0 });
    expect(await store.status('n1', 'layer')).toMatchObject({ startedAtMs: 1234 });
    await ingest.remove();
  });

  it('lists, describes and reads what was published, and nothing that is not a blob', async () => {
    const directory = directoryOf();
    const store = await ContentStore.open(directory);
    const blobs = [blobOf(), blobOf(''), blobOf('x')];
    for (const blob of blobs) await put(store, blob);
    await writeFile(join(directory, 'blobs/sha256/README'), 'not a blob');
    const listed = await listOf(store);
    expect(listed.map(({ digest }) => digest).toSorted()).toEqual(
      blobs.map(({ digest }) => digest).toSorted(),
    );
    expect(await store.info(blobs[0]!.digest)).toMatchObject({ size: 1000, digest: blobs[0]!.digest });
    expect(await store.info(blobOf().digest)).toBeUndefined();
    await expect(store.open(blobOf().digest)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(store.read(blobOf().digest, 0, 1)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await store.read(blobs[1]!.digest, 0, 10)).toEqual(Buffer.alloc(0));
    store.close();
  });

  it('reads any part, at once and again, through one open file', async () => {
    const store = await ContentStore.open(directoryOf());
    const blob = blobOf();
    await put(store, blob);
    const parts = await Promise.all(
      [0, 999, 1000, 500].map((offset) => store.read(blob.digest, offset, 300)),
    );
    expect(parts).toEqual([0, 999, 1000, 500].map((offset) => blob.bytes.subarray(offset, offset + 300)));
    await using reader = await store.open(blob.digest);
    expect(reader.size).toBe(1000);
    expect(await reader.read(10, 20)).toEqual(blob.bytes.subarray(10, 30));
    store.close();
  });

  it('reads more blobs than it keeps open', async () => {
    const store = await ContentStore.open(directoryOf());
    const blobs = Array.from({ length: 80 }, () => blobOf());
    for (const blob of blobs) await put(store, blob);
    const read = () => Promise.all(blobs.map(({ digest }) => store.read(digest, 0, 1000)));
    const open = async () => (await readdir('/proc/self/fd')).length;
    const before = await open();
    expect(await read()).toEqual(blobs.map(({ bytes }) => bytes));
    expect(await read()).toEqual(blobs.map(({ bytes }) => bytes));
    expect((await open()) - before).toBeLessThanOrEqual(64);
    store.close();
  });

  it('never replaces what is there, unless told to', async () => {
    const directory = directoryOf();
    const store = await ContentStore.open(directory);
    const blob = blobOf();
    const inode = async () => (await stat(join(directory, 'blobs/sha256', blob.digest.slice(7)))).ino;
    await put(store, blob);
    const first = await inode();
    await put(store, { ...blob, ref: 'again' });
    expect(await inode()).toBe(first);
    await put(store, { ...blob, ref: 'repaired' }, true);
    expect(await inode()).not.toBe(first);
  });

  it('syncs the bytes before they get their name, and the directory after', async () => {
    const directory = directoryOf();
    const disk = new FaultyDisk();
    const store = await ContentStore.open(directory, { fileSystem: disk });
    const from = disk.steps.length;
    await put(store, blobOf());
    const steps = disk.steps
      .slice(from)
      .map((step) => step.replace(directory, '').replace(/[0-9a-f]{16,}/g, '…'));
    const at = (start: string) => steps.findIndex((step) => step.startsWith(start));
    expect(at('sync /ingest')).toBeGreaterThan(at('write /ingest'));
    expect(at('link /blobs')).toBeGreaterThan(at('sync /ingest'));
    expect(at('sync /blobs')).toBeGreaterThan(at('link /blobs'));
  });

  it.skipIf(CANNOT_MOUNT)('shows a full disk as such, with nothing left of what did not fit', async () => {
    const tiny = tinyFileSystem(512);
    const server = await isolating();
    const { node, store } = await nodeOf(server, tiny.path);
    const large = blobOf(Buffer.alloc(1 << 20, 'x'));
    await expect(pull(node, large)).rejects.toMatchObject({ code: 'NO_SPACE' });
    expect(await store.statuses('n1')).toEqual([]);
    expect(await listOf(store)).toEqual([]);
    expect(await pull(node, blobOf())).toBe('fetched');
    tiny.remount('size=8m');
    expect(await pull(node, large)).toBe('fetched');
    store.close();
  });

  it.skipIf(CANNOT_MOUNT)('shows a read-only file system as such, and still reads', async () => {
    const tiny = tinyFileSystem(512);
    const { node, store } = await nodeOf(await isolating(), tiny.path);
    const blob = blobOf();
    await pull(node, blob);
    tiny.remount('ro');
    await expect(pull(node, blobOf())).rejects.toMatchObject({ code: 'NOT_WRITABLE' });
    expect(await pull(node, blob)).toBe('skipped');
    expect(await store.read(blob.digest, 0, 1000)).toEqual(blob.bytes);
    store.close();
  });

  it('keeps the highest token, however marks arrive', async () => {
    const directory = directoryOf();
    const hex = 'a'.repeat(64);
    const stores = await Promise.all([1, 2, 3].map(() => ContentStore.open(directory)));
    await Promise.all(
      Array.from({ length: 30 }, (_, n) => stores[n % 3]!.tokens.mark(hex, ((n * 7) % 30) + 1)),
    );
    for (const store of stores) expect(await store.tokens.highest(hex)).toBe(30);
    await stores[0]!.tokens.mark(hex, 3);
    expect(await stores[1]!.tokens.highest(hex)).toBe(30);
    expect(await stores[1]!.tokens.highest('b'.repeat(64))).toBe(0);
  });
});

describe('A sweep', () => {
  const HOUR_MS = 60 * 60 * 1000;

  async function age(directory: string, ref: string, ms: number): Promise<void> {
    const store = await ContentStore.open(directory);
    const ingest = (await store.leftIngests()).find(({ about }) => about?.ref === ref)!;
    const then = new Date(Date.now() - ms);
    await utimes(join(ingest.directory, 'data'), then, then);
  }

  it('removes blobs nobody uses, and no others', async () => {
    const server = await isolating();
    const directory = directoryOf();
    const { node, store } = await nodeOf(server, directory);
    const [used, unused, busy] = [blobOf(), blobOf(), blobOf()];
    for (const blob of [used, unused, busy]) await pull(node, blob);
    for (const blob of [unused, busy]) await node.release(blob.digest);
    const other = await nodeOf(server, directory, 'other');
    const held = await other.client.lock({ type: 'update', resourceId: busy.digest });
    expect(await node.sweep()).toEqual({ deleted: [unused.digest], putBack: [], removedIngests: [] });
    expect(await store.has(used.digest)).toBe(true);
    expect(await store.has(busy.digest)).toBe(true);
    await other.client.unlock(held.hold!, { success: true });
    expect((await node.sweep()).deleted).toEqual([busy.digest]);
  });

  it('removes what a dead node has left on the way, by age and by owner', async () => {
    const server = await isolating();
    const directory = directoryOf();
    const { node } = await nodeOf(server, directory);
    const dead = await nodeOf(server, directory, 'dead');
    const alive = await nodeOf(server, directory, 'alive');
    const blobs = [blobOf(), blobOf(), blobOf()] as const;
    const [old, young, held] = blobs;
    const writers = await Promise.all(
      blobs.map(async ({ ref, digest }, n) => {
        const { writer } = await (n === 2 ? alive : dead).node.openWriter(ref, digest, 1000);
        await writer!.write(Buffer.alloc(10));
        return writer!;
      }),
    );
    await dead.client.close();
    const unlocked = await dead.node.openWriter('unlocked', undefined);
    await unlocked.writer!.close();
    for (const { ref } of [old, held]) await age(directory, ref, 2 * HOUR_MS);
    await age(directory, 'unlocked', 2 * HOUR_MS);
    expect(await node.sweep()).toMatchObject({ removedIngests: [old.ref] });
    await age(directory, 'unlocked', 25 * HOUR_MS);
    await writers[2]!.close();
    await age(directory, held.ref, 2 * HOUR_MS);
    expect((await node.sweep()).removedIngests.toSorted()).toEqual([held.ref, 'unlocked'].toSorted());
    await age(directory, young.ref, 2 * HOUR_MS);
    expect((await node.sweep()).removedIngests).toEqual([young.ref]);
  });

  it('empties the trash of what nobody uses and puts back what somebody does', async () => {
    const server = await isolating();
    const directory = directoryOf();
    const { node, store } = await nodeOf(server, directory);
    const [used, unused] = [blobOf(), blobOf()];
    for (const blob of [used, unused]) await pull(node, blob);
    await node.release(unused.digest);
    for (const { digest } of [used, unused]) {
      const path = join(directory, 'blobs/sha256', digest.slice(7));
      await link(path, join(directory, 'trash', `${digest.slice(7)}.1`));
      await unlink(path);
    }
    expect(await store.has(used.digest)).toBe(false);
    expect(await store.read(used.digest, 0, 1000)).toEqual(used.bytes);
    expect(await node.sweep()).toMatchObject({ deleted: [unused.digest], putBack: [used.digest] });
    expect(await readFile(join(directory, 'blobs/sha256', used.digest.slice(7)))).toEqual(used.bytes);
    expect(await readdir(join(directory, 'trash'))).toEqual([]);
  });

  it('refuses where other operations may run beside a delete', async () => {
    const server = await isolating({ lockIsolation: 'operation' });
    const directory = directoryOf();
    const { node, store } = await nodeOf(server, directory);
    await expect(node.sweep()).rejects.toMatchObject({ code: 'WRONG_ISOLATION' });
    const blob = blobOf();
    await pull(node, blob);
    await expect(node.sweep()).rejects.toMatchObject({ code: 'WRONG_ISOLATION' });
    await node.release(blob.digest);
    await expect(node.delete(blob.digest)).rejects.toMatchObject({ code: 'WRONG_ISOLATION' });
    await expect(node.sweep()).rejects.toMatchObject({ code: 'WRONG_ISOLATION' });
    expect(await store.has(blob.digest)).toBe(true);
    expect((await server.get('/locks')).body.locks.filter(({ held }: { held: boolean }) => held)).toEqual([]);
  });

  it('ignores what is not its own', async () => {
    const directory = directoryOf();
    const { node } = await nodeOf(await isolating(), directory);
    await mkdir(join(directory, 'ingest/lost+found'));
    for (const path of ['trash/notes.txt', 'deleting/..x', 'tokens/x'])
      await writeFile(join(directory, path), '');
    expect(await node.sweep({ leftAfterMs: 0 })).toEqual({ deleted: [], putBack: [], removedIngests: [] });
    await rm(join(directory, 'ingest/lost+found'), { recursive: true });
  });
});
