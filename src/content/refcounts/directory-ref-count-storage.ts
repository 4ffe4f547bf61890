import { createHash, randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { RefCountError } from '../../refcount/ref-count.error.js';
import {
  type RefCountStorage,
  type ReferenceCount,
  type ReferencingNode,
} from '../../refcount/ref-count-storage.interface.js';
import { referenceCountOf } from '../../refcount/reference-count.js';
import { errnoOf } from '../errors.js';
import {
  type ContentFileSystem,
  fileSystemNowMs,
  ifThere,
  isMissing,
  makeDirectory,
  makeOne,
  realFileSystem,
  syncDirectory,
  statIfThere,
} from '../store/file-system.js';
import { decodeReference, encodeReference, type StoredReference } from './stored-reference.js';

const HASH = /^[0-9a-f]{64}$/;

/** A directory that was emptied may be removed between making it and writing into it; more often is no accident. */
const MAX_TRIES = 16;

/** What a killed process has left half-written; a living one takes milliseconds. */
const LEFT_AFTER_MS = 60 * 60 * 1000;

/** Files open at once: enough to overlap their syncs, far from any limit of descriptors. */
const AT_ONCE = 64;

/**
 * Counts as files, one for each node of each resource: `<path>/<resource>/<node>`, names hashed. Being counted is being in the
 * directory, so there is nothing to read, change and write back, and any number of processes may share it without a lock
 * that a killed one could leave behind; several hosts too, where the file system is one.
 *
 * Promises: a change that resolved is on disk; adding and removing are atomic; a crash in `setRefCount` leaves a reference too
 * many rather than one too few.
 * Does not promise: speed with thousands of nodes on one resource (each is a file), nor that the order of nodes added at the same
 * moment by two processes means anything.
 */
export class DirectoryRefCountStorage implements RefCountStorage {
  private readonly path: string;
  private readonly temporary: string;
  private lastOrder = 0;
  private opening: Promise<void> | undefined;

  constructor(
    path: string,
    private readonly fs: ContentFileSystem = realFileSystem,
    private readonly wallMs: () => number = Date.now,
  ) {
    this.path = resolve(path);
    this.temporary = join(this.path, 'tmp');
  }

  async getRefCount(resourceId: string): Promise<ReferenceCount | undefined> {
    return this.doing('getRefCount', async () => {
      const stored = await this.readAll(resourceId);
      if (stored.length === 0) return undefined;
      return referenceCountOf(stored.sort((a, b) => a.order - b.order));
    });
  }

  async setRefCount(resourceId: string, { nodes }: ReferenceCount): Promise<void> {
    const wanted = referenceCountOf(nodes).nodes.map((node) => this.toStore(resourceId, node));
    await this.doing('setRefCount', async () => {
      for (let at = 0; at < wanted.length; at += AT_ONCE) {
        await Promise.all(wanted.slice(at, at + AT_ONCE).map((one) => this.put(one, true)));
      }
      const names = new Set(wanted.map(({ nodeId }) => hashOf(nodeId)));
      await this.removeAll(resourceId, (name) => !names.has(name));
      if (wanted.length > 0) await this.syncUp(resourceId);
    });
  }

  async deleteRefCount(resourceId: string): Promise<void> {
    await this.doing('deleteRefCount', () => this.removeAll(resourceId, () => true));
  }

  async addNode(resourceId: string, node: ReferencingNode): Promise<void> {
    await this.doing('addNode', async () => {
      for (let tries = 1; ; tries++) {
        try {
          await this.put(this.toStore(resourceId, node), false);
          return await this.syncUp(resourceId);
        } catch (error) {
          if (!isMissing(error) || tries === MAX_TRIES) throw error;
        }
      }
    });
  }

  async removeNode(resourceId: string, nodeId: string): Promise<boolean> {
    return this.doing('removeNode', async () => {
      const name = hashOf(nodeId);
      return (await this.removeAll(resourceId, (other) => other === name)) > 0;
    });
  }

  async listByNode(nodeId: string): Promise<readonly string[]> {
    return this.doing('listByNode', async () => {
      const resources = (await this.fs.readdir(this.path)).filter((name) => HASH.test(name));
      const name = hashOf(nodeId);
      const found = await Promise.all(resources.map((one) => this.read(join(this.path, one, name))));
      return found.flatMap((reference) => reference?.resourceId ?? []);
    });
  }

  private async open(): Promise<void> {
    await makeDirectory(this.fs, this.temporary);
    const left = await this.fs.readdir(this.temporary);
    if (left.length === 0) return;
    const nowMs = await fileSystemNowMs(this.fs, this.temporary);
    for (const name of left) {
      const path = join(this.temporary, name);
      const { mtimeMs = Infinity } = (await statIfThere(this.fs, path)) ?? {};
      if (nowMs - mtimeMs > LEFT_AFTER_MS) await ifThere(this.fs.unlink(path));
    }
  }

  /** Synced, then named: nobody ever reads half a reference. */
  private async put(reference: StoredReference, replaces: boolean): Promise<void> {
    const directory = this.of(reference.resourceId);
    const temporary = join(this.temporary, randomBytes(16).toString('hex'));
    await makeOne(this.fs, directory);
    const file = await this.fs.open(temporary, 'wx');
    try {
      await file.writeFile(encodeReference(reference));
      await file.sync();
    } finally {
      await file.close();
    }
    try {
      await this.name(temporary, join(directory, hashOf(reference.nodeId)), replaces);
    } finally {
      await ifThere(this.fs.unlink(temporary));
    }
  }

  /** The directory of the resource too, whoever has made it. */
  private async syncUp(resourceId: string): Promise<void> {
    await syncDirectory(this.fs, this.of(resourceId));
    await syncDirectory(this.fs, this.path);
  }

  private async name(temporary: string, path: string, replaces: boolean): Promise<void> {
    if (replaces) return this.fs.rename(temporary, path);
    try {
      await this.fs.link(temporary, path);
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
    }
  }

  /** How many were there. An empty directory goes too; whoever is about to write into it makes it again. */
  private async removeAll(resourceId: string, isMeant: (name: string) => boolean): Promise<number> {
    const directory = this.of(resourceId);
    const names = ((await ifThere(this.fs.readdir(directory))) ?? []).filter(isMeant);
    const removed = await Promise.all(names.map((name) => this.unlink(join(directory, name))));
    if (names.length > 0) await ifThere(syncDirectory(this.fs, directory));
    await this.removeIfEmpty(directory);
    return removed.filter((was) => was).length;
  }

  private async unlink(path: string): Promise<boolean> {
    return (await ifThere(this.fs.unlink(path).then(() => true))) ?? false;
  }

  private async removeIfEmpty(directory: string): Promise<void> {
    try {
      await this.fs.rmdir(directory);
    } catch (error) {
      if (!isMissing(error) && errnoOf(error) !== 'ENOTEMPTY' && errnoOf(error) !== 'EEXIST') throw error;
    }
  }

  private async readAll(resourceId: string): Promise<StoredReference[]> {
    const directory = this.of(resourceId);
    const names = ((await ifThere(this.fs.readdir(directory))) ?? []).filter((name) => HASH.test(name));
    const found: StoredReference[] = [];
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const some = names.slice(at, at + AT_ONCE).map((name) => this.read(join(directory, name)));
      for (const reference of await Promise.all(some)) if (reference) found.push(reference);
    }
    return found;
  }

  private async read(path: string): Promise<StoredReference | undefined> {
    const file = await ifThere(this.fs.open(path, 'r'));
    if (!file) return undefined;
    try {
      return decodeReference(await file.readFile('utf8'), path);
    } finally {
      await file.close();
    }
  }

  private of(resourceId: string): string {
    return join(this.path, hashOf(resourceId));
  }

  /** Microseconds, and never the same twice in this process: the order in which nodes came. */
  private toStore(resourceId: string, node: ReferencingNode): StoredReference {
    this.lastOrder = Math.max(this.lastOrder + 1, this.wallMs() * 1000);
    return { resourceId, ...node, order: this.lastOrder };
  }

  private async doing<T>(operation: string, task: () => Promise<T>): Promise<T> {
    try {
      await (this.opening ??= this.open());
      return await task();
    } catch (cause) {
      this.opening = undefined;
      throw RefCountError.from(operation, cause, `The directory ${this.path}`);
    }
  }
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('hex');
}
