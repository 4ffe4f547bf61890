import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MemoryRefCountStorage, RefCountManager } from '../../src/content/index.js';
import { type TestServer } from '../support/server-bootstrap.js';
import { FaultyDisk } from './faulty-disk.js';
import { type Blob, blobOf, directoryOf, isolating, nodeOf, pull, type TestNode } from './setup.js';

/** The server takes the lock away, as it does from a node it has not heard of for too long. */
function takeAway(server: TestServer, type: string, { digest }: Blob) {
  return server.post('/locks/release', { type, resource_id: digest, reason: 'it was silent' });
}

async function stored(server: TestServer, directory: string, blob: Blob): Promise<TestNode> {
  const first = await nodeOf(server, directory, 'first');
  await pull(first.node, blob);
  await first.node.release(blob.digest);
  return first;
}

const everything = ({ bytes }: Blob) => [0, bytes.length] as const;

describe('A holder whose lock has passed on', () => {
  it('cannot publish: the server says so', async () => {
    const server = await isolating();
    const directory = directoryOf();
    const blob = blobOf();
    const { node, store } = await nodeOf(server, directory);
    const { writer } = await node.openWriter(blob.ref, blob.digest, blob.bytes.length);
    await writer!.write(blob.bytes);
    await takeAway(server, 'pull', blob);
    await expect(writer!.commit()).rejects.toMatchObject({ code: 'STALE' });
    expect(await store.has(blob.digest)).toBe(false);
    expect(await node.uses(blob.digest)).toBe(false);
  });

  it('cannot publish: a later token in the store says so, whatever the server says', async () => {
    const server = await isolating();
    const directory = directoryOf();
    const blob = blobOf();
    const { node, store } = await nodeOf(server, directory);
    const { writer } = await node.openWriter(blob.ref, blob.digest, blob.bytes.length);
    await writer!.write(blob.bytes);
    await store.tokens.mark(blob.digest.slice(7), writer!.token + 1);
    await expect(writer!.commit()).rejects.toMatchObject({ code: 'STALE' });
    expect(await store.has(blob.digest)).toBe(false);
  });

  it('cannot write on', async () => {
    const server = await isolating();
    const blob = blobOf();
    const { node, client } = await nodeOf(server, directoryOf());
    const { writer } = await node.openWriter(blob.ref, blob.digest, blob.bytes.length);
    await client.close();
    await expect(writer!.write(blob.bytes)).rejects.toMatchObject({ code: 'STALE' });
    await expect(writer!.write(blob.bytes)).rejects.toMatchObject({ code: 'STALE' });
  });

  /** `moment`: how many steps of its delete the first node has done when it is overtaken; `crashes`: it ends there or goes on. */
  async function overtakenDelete(moment: number, isEnding: boolean): Promise<boolean> {
    const server = await isolating({ logLevel: 'error' });
    const directory = directoryOf();
    const blob = blobOf();
    await stored(server, directory, blob);
    const disk = new FaultyDisk();
    const slow = await nodeOf(server, directory, 'slow', { fileSystem: disk });
    const user = await nodeOf(server, directory, 'user');
    const begun = disk.steps.length;
    let told = false;
    let outcome = 'fetched';
    disk.onStep = async (_name, step) => {
      if (told) expect(await user.store.read(blob.digest, ...everything(blob))).toEqual(blob.bytes);
      user.store.close();
      if (step !== begun + moment) return;
      await takeAway(server, 'delete', blob);
      outcome = await pull(user.node, blob);
      told = true;
      if (isEnding) disk.crash(0);
    };
    disk.onCrash = () => void slow.client.close();
    const deleted = await slow.node.delete(blob.digest).catch(() => 'failed');
    if (!told) return false;
    if (isEnding) expect(deleted).toBe('failed');
    expect(await user.store.read(blob.digest, ...everything(blob))).toEqual(blob.bytes);
    user.store.close();
    await user.node.sweep({ leftAfterMs: 0 });
    expect(await user.store.has(blob.digest), outcome).toBe(true);
    expect(await readdir(join(directory, 'trash'))).toEqual([]);
    await slow.client.close();
    await user.client.close();
    await server.close();
    return true;
  }

  it.each([false, true])(
    'never takes bytes from the node that was let in meanwhile, whatever step of its delete it is at (and ends there: %s)',
    async (isEnding) => {
      let moment = 1;
      while (await overtakenDelete(moment, isEnding)) moment++;
      expect(moment).toBeGreaterThan(6);
    },
  );
});

describe('Where this side counts', () => {
  const counting = { refcountMode: 'client', logLevel: 'error' } as const;

  it('counts workers and those who skip, refuses to delete while there are any, and deletes afterwards', async () => {
    const server = await isolating(counting);
    const directory = directoryOf();
    const refs = new RefCountManager(new MemoryRefCountStorage());
    const blob = blobOf();
    const nodes = await Promise.all(['a', 'b', 'c'].map((name) => nodeOf(server, directory, name, { refs })));
    const outcomes = await Promise.all(nodes.map(({ node }) => pull(node, blob)));
    expect(outcomes.toSorted()).toEqual(['fetched', 'skipped', 'skipped']);
    expect((await refs.getRefCount(blob.digest)).count).toBe(3);
    await expect(nodes[0]!.node.delete(blob.digest)).rejects.toMatchObject({ code: 'IN_USE' });
    expect(await readdir(join(directory, 'deleting'))).toEqual([]);
    for (const { node } of nodes) await node.release(blob.digest);
    expect(await nodes[0]!.node.delete(blob.digest)).toBe(true);
    expect(await nodes[0]!.store.info(blob.digest)).toBeUndefined();
  });

  it('a node that counts itself in at any step of a delete is told the truth', async () => {
    const server = await isolating(counting);
    for (let moment = 1, isOver = false; !isOver; moment++) {
      const directory = directoryOf();
      const blob = blobOf();
      const refs = new RefCountManager(new MemoryRefCountStorage());
      const disk = new FaultyDisk();
      const deleting = await nodeOf(server, directory, 'deleting', { refs, fileSystem: disk });
      const user = await nodeOf(server, directory, 'user', { refs });
      await pull(deleting.node, blob);
      await deleting.node.release(blob.digest);
      const begun = disk.steps.length;
      let isUsed: boolean | undefined;
      disk.onStep = async (_name, step) => {
        if (isUsed) expect(await user.store.has(blob.digest), `step ${step}`).toBe(true);
        if (step === begun + moment) isUsed = await user.node.use(blob.digest);
      };
      await deleting.node.delete(blob.digest).catch(() => undefined);
      if (isUsed) expect(await user.store.has(blob.digest), `moment ${moment}`).toBe(true);
      isOver = isUsed === undefined;
      if (isOver) expect(moment).toBeGreaterThan(6);
    }
  });

  it('a delete at any moment of counting oneself in does not take the bytes', async () => {
    const server = await isolating(counting);
    for (const moment of ['before', 'after']) {
      const directory = directoryOf();
      const blob = blobOf();
      const storage = new MemoryRefCountStorage();
      const refs = new RefCountManager(storage);
      const other = await nodeOf(server, directory, 'other', { refs });
      await pull(other.node, blob);
      await other.node.release(blob.digest);
      const set = storage.setRefCount.bind(storage);
      const remove = () => other.node.delete(blob.digest).catch(() => undefined);
      const slow = new MemoryRefCountStorage();
      Object.assign(slow, {
        getRefCount: (id: string) => storage.getRefCount(id),
        setRefCount: async (...args: Parameters<typeof set>) => {
          if (moment === 'before') await remove();
          await set(...args);
          if (moment === 'after') await remove();
        },
      });
      const user = await nodeOf(server, directory, 'user', { refs: new RefCountManager(slow) });
      const isUsed = await user.node.use(blob.digest);
      expect(isUsed, moment).toBe(moment === 'after');
      expect(await user.store.has(blob.digest), moment).toBe(isUsed);
    }
  });
});
