import { DurableFile, type FileSystem } from './durable-file.js';
import { GroupCommit } from './group-commit.js';
import { decodeRefCounts, encodeRefCounts, type StoredResource } from './ref-count-file-format.js';
import { RefCountIndex } from './ref-count-index.js';
import { type RefCountStorage, type ReferenceCount } from './ref-count-storage.interface.js';
import { RefCountError } from './ref-count.error.js';
import { referenceCountOf } from './reference-count.js';

/**
 * `file:PATH` Counts in one JSON file, held in memory and replaced on disk.
 *
 * Promises: a change that resolved is on disk; one that rejected is neither in memory nor (but for the case
 * `DurableFile` names) on disk, and later changes are tried afresh; reads see only what is on disk; a file that cannot
 * be understood is reported and left as it is.
 *
 * Does not promise: speed with many references, since every group of changes rewrites the whole file (changes that
 * arrive during a write share the next one; with 100,000 references a write takes some 60 ms, with a million a second);
 * safety with several processes, which would overwrite each other unnoticed.
 *
 * Opens itself at the first call. As a Nest provider it opens at start, so that a bad file stops the start, and closes
 * once requests have ended. Closed is for good.
 */
export class FileRefCountStorage implements RefCountStorage {
  private readonly file: DurableFile;
  private readonly commits = new GroupCommit<StoredResource>((changes) => this.commit(changes));
  private opening: Promise<RefCountIndex> | undefined;
  private closed = false;

  constructor(path: string, fs?: FileSystem) {
    this.file = new DurableFile(path, fs);
  }

  async open(): Promise<void> {
    await this.opened('open');
  }

  /** Waits for what is being written. Idempotent. */
  async close(): Promise<void> {
    this.closed = true;
    await this.commits.idle();
  }

  async getRefCount(resourceId: string): Promise<ReferenceCount | undefined> {
    return (await this.opened('getRefCount')).get(resourceId);
  }

  async setRefCount(resourceId: string, refCount: ReferenceCount): Promise<void> {
    await this.change('setRefCount', [resourceId, referenceCountOf(refCount.nodes).nodes]);
  }

  async deleteRefCount(resourceId: string): Promise<void> {
    await this.change('deleteRefCount', [resourceId, []]);
  }

  async listByNode(nodeId: string): Promise<readonly string[]> {
    return (await this.opened('listByNode')).listByNode(nodeId);
  }

  async onModuleInit(): Promise<void> {
    await this.open();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  private async change(operation: string, change: StoredResource): Promise<void> {
    this.refuseIfClosed(operation);
    try {
      await this.commits.add(change);
    } catch (cause) {
      throw RefCountError.from(operation, cause, `The file ${this.file.path}`);
    }
  }

  private async commit(changes: readonly StoredResource[]): Promise<void> {
    const index = await this.load();
    const changed = new Map(changes);
    await this.file.replace(encodeRefCounts(merged(index, changed)));
    for (const [resourceId, nodes] of changed) index.put(resourceId, nodes);
  }

  private async opened(operation: string): Promise<RefCountIndex> {
    this.refuseIfClosed(operation);
    return this.load();
  }

  private refuseIfClosed(operation: string): void {
    if (!this.closed) return;
    throw new RefCountError('REFCOUNT_UNAVAILABLE', operation, `${this.file.path} is closed`);
  }

  /** Read once; a failed reading is tried again by the next call. */
  private load(): Promise<RefCountIndex> {
    this.opening ??= this.read().catch((error: unknown) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }

  private async read(): Promise<RefCountIndex> {
    const index = new RefCountIndex();
    try {
      const text = await this.file.read();
      for (const [resourceId, nodes] of text === undefined ? [] : this.decode(text))
        index.put(resourceId, nodes);
      await this.file.prepare();
    } catch (cause) {
      throw RefCountError.from('open', cause, `The file ${this.file.path}`);
    }
    return index;
  }

  private decode(text: string): StoredResource[] {
    try {
      return decodeRefCounts(text);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new RefCountError(
        'REFCOUNT_UNREADABLE',
        'open',
        `Cannot use ${this.file.path}: ${why}. It was left as it is; restore a copy of it or move it away.`,
        cause,
      );
    }
  }
}

function* merged(
  index: RefCountIndex,
  changed: ReadonlyMap<string, StoredResource[1]>,
): Iterable<StoredResource> {
  for (const [resourceId, { nodes }] of index.entries())
    if (!changed.has(resourceId)) yield [resourceId, nodes];
  for (const change of changed) if (change[1].length > 0) yield change;
}
