import { resolve } from 'node:path';
import { digestOf, hexOf, isHex } from '../digest.js';
import { ContentError } from '../errors.js';
import { BlobReader } from './blob-reader.js';
import { DeleteMarks } from './delete-marks.js';
import {
  type ContentFile,
  type ContentFileSystem,
  fileSystemNowMs,
  ifThere,
  makeDirectory,
  realFileSystem,
  syncDirectory,
} from './file-system.js';
import { type Ingest, type IngestAbout } from './ingest.js';
import { Ingests, type IngestStatus, type StoredIngest } from './ingests.js';
import { Layout, type Marked } from './layout.js';
import { ReaderCache } from './reader-cache.js';
import { TokenMarks } from './token-marks.js';
import { Trash } from './trash.js';

export interface ContentStoreOptions {
  /** For tests. */
  readonly fileSystem?: ContentFileSystem;
  /** For tests: milliseconds since the epoch. */
  readonly wallMs?: () => number;
}

export interface BlobInfo {
  readonly digest: string;
  readonly size: number;
  readonly createdAtMs: number;
}

/** A blob that is being moved back appears under its name within this many looks at both places. */
const MAX_LOOKS = 8;

/**
 * Blobs by digest in a directory that many nodes share. It knows nothing of locks: who may publish or delete is
 * `ContentNode`'s affair; this class sees to it that the disk is in order at every moment, whoever crashes.
 *
 * Promises:
 * - What is under `blobs/` is whole and verified: the digest was computed from the bytes, which were synced before they
 *   got the name. A published blob is on disk when `publish` resolves.
 * - A blob that is there is never overwritten by another writer of it, only replaced by an equal one (`replaces`).
 * - Names that are not digests never reach the disk; names of nodes and refs reach it hashed.
 * - A blob on its way out can be read until it is gone for good, and can be put back.
 *
 * Does not promise: that a file system which lies about `fsync` or caches missing names keeps any of this.
 */
export class ContentStore {
  /** The highest fencing token seen for each digest. */
  readonly tokens: TokenMarks;
  readonly deleting: DeleteMarks;
  readonly trash: Trash;
  private readonly ingests: Ingests;
  private readonly readers = new ReaderCache((digest) => this.open(digest));

  private constructor(
    private readonly layout: Layout,
    private readonly fs: ContentFileSystem,
    private readonly wallMs: () => number,
  ) {
    this.tokens = new TokenMarks(layout.tokens, fs);
    this.deleting = new DeleteMarks(layout.deleting, fs);
    this.trash = new Trash(layout, fs);
    this.ingests = new Ingests(layout, fs);
  }

  /** Makes what is missing of the directory. */
  static async open(directory: string, options: ContentStoreOptions = {}): Promise<ContentStore> {
    const layout = new Layout(resolve(directory));
    const fs = options.fileSystem ?? realFileSystem;
    const { blobs, ingests, tokens, deleting, trash } = layout;
    try {
      for (const path of [blobs, ingests, tokens, deleting, trash]) await makeDirectory(fs, path);
    } catch (cause) {
      throw ContentError.from(`opening the store ${directory}`, cause);
    }
    return new ContentStore(layout, fs, options.wallMs ?? Date.now);
  }

  /** Whether the blob has its name now. Being on the way out does not count. */
  async has(digest: string): Promise<boolean> {
    const file = await this.openFile(this.layout.blob(hexOf(digest)), `looking for ${digest}`);
    await file?.close();
    return file !== undefined;
  }

  /** `undefined`: there is none. */
  async info(digest: string): Promise<BlobInfo | undefined> {
    const file = await this.find(digest);
    if (!file) return undefined;
    try {
      const { size, mtimeMs } = await file.stat();
      return { digest, size, createdAtMs: mtimeMs };
    } finally {
      await file.close();
    }
  }

  async *list(): AsyncIterable<BlobInfo> {
    for (const name of await this.fs.readdir(this.layout.blobs)) {
      const info = isHex(name) ? await this.info(digestOf(name)) : undefined;
      if (info) yield info;
    }
  }

  /** For many reads of one blob. */
  async open(digest: string): Promise<BlobReader> {
    const file = await this.find(digest);
    if (!file) throw new ContentError('NOT_FOUND', `${digest} is not in the store.`);
    return BlobReader.over(digest, file);
  }

  /**
   * Up to `length` bytes from `offset`, in `memory` of that length if it is given. Blobs stay open from one such read to the
   * next.
   */
  async read(digest: string, offset: number, length: number, memory?: Buffer): Promise<Buffer> {
    hexOf(digest);
    return this.readers.use(digest, (reader) => reader.read(offset, length, memory));
  }

  /** Bytes to come. Those that an earlier ingest of this ref by this node has left are there already: see `offset`. */
  async begin(about: Omit<IngestAbout, 'startedAtMs'>): Promise<Ingest> {
    if (about.digest !== undefined) hexOf(about.digest);
    return this.doing(`beginning ${about.ref}`, () =>
      this.ingests.begin({ ...about, startedAtMs: this.wallMs() }),
    );
  }

  /**
   * Gives a finished ingest its name. What is there already stays and is success, unless this one `replaces` it. `mayPublish`
   * is asked last of all; if it throws nothing was published.
   */
  async publish(ingest: Ingest, replaces: boolean, mayPublish: () => Promise<void>): Promise<void> {
    await this.doing(`publishing ${ingest.digest}`, async () => {
      await ingest.finish();
      await mayPublish();
      await ingest.publish(this.layout.blob(hexOf(ingest.digest)), replaces);
      await syncDirectory(this.fs, this.layout.blobs);
    });
    if (replaces) this.readers.forget(ingest.digest);
    await ingest.remove().catch(() => undefined);
  }

  /** What a node has on the way; one with nobody writing it can be resumed. */
  async statuses(nodeId: string): Promise<IngestStatus[]> {
    return (await this.ingests.find(nodeId)).map(statusOf).filter((status) => status !== undefined);
  }

  async status(nodeId: string, ref: string): Promise<IngestStatus | undefined> {
    const found = (await this.ingests.find(nodeId, ref))
      .map(statusOf)
      .filter((status) => status !== undefined);
    return found.sort((a, b) => b.offset - a.offset)[0];
  }

  /** Removes what a node has on the way under this ref. */
  async abort(nodeId: string, ref: string): Promise<void> {
    for (const ingest of await this.ingests.find(nodeId, ref)) await this.ingests.remove(ingest);
  }

  /** What was left on the way by anybody, as far as nobody in this process writes it. */
  async leftIngests(): Promise<StoredIngest[]> {
    return (await this.ingests.findAll()).filter((ingest) => !this.ingests.isActive(ingest));
  }

  async removeIngest(ingest: StoredIngest): Promise<void> {
    await this.ingests.remove(ingest);
  }

  /** Takes the blob out of sight. False: there is none. */
  async moveToTrash({ hex, token }: Marked): Promise<boolean> {
    this.readers.forget(digestOf(hex));
    return this.doing(`moving ${digestOf(hex)} to the trash`, () => this.trash.take({ hex, token }));
  }

  /** By which the ages of its files are told. */
  nowMs(): Promise<number> {
    return fileSystemNowMs(this.fs, this.layout.ingests);
  }

  /** Closes the blob if it is kept open for reading: the space of one that others delete is free then. */
  forget(digest: string): void {
    this.readers.forget(digest);
  }

  /** Closes what is kept open for reading. */
  close(): void {
    this.readers.clear();
  }

  private async find(digest: string): Promise<ContentFile | undefined> {
    const hex = hexOf(digest);
    for (let look = 0; look < MAX_LOOKS; look++) {
      const file = await this.openFile(this.layout.blob(hex), `opening ${digest}`);
      if (file) return file;
      const [moved] = await this.trash.find(hex);
      if (!moved) return this.openFile(this.layout.blob(hex), `opening ${digest}`);
      const trashed = await this.openFile(this.layout.trashed(moved), `opening ${digest}`);
      if (trashed) return trashed;
    }
    return undefined;
  }

  private openFile(path: string, doing: string): Promise<ContentFile | undefined> {
    return this.doing(doing, () => ifThere(this.fs.open(path, 'r')));
  }

  private async doing<T>(what: string, task: () => Promise<T>): Promise<T> {
    try {
      return await task();
    } catch (cause) {
      throw ContentError.from(what, cause);
    }
  }
}

function statusOf({ about, offset, updatedAtMs }: StoredIngest): IngestStatus | undefined {
  if (!about) return undefined;
  const { ref, total, digest, startedAtMs } = about;
  return { ref, offset, total, digest, startedAtMs, updatedAtMs };
}
