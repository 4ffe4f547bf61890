import { type BlobReader } from './blob-reader.js';

/** Unpacking reads one layer at a time, several images at once at most; descriptors are cheap but not free. */
const MAX_OPEN = 64;

interface Entry {
  readonly opening: Promise<BlobReader>;
  users: number;
  isDropped: boolean;
}

/**
 * Keeps blobs open from one small read to the next: whoever unpacks a layer reads it in thousands of pieces. The least
 * recently used is closed for the next. A blob that is deleted elsewhere keeps its space until it is closed here.
 */
export class ReaderCache {
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly open: (digest: string) => Promise<BlobReader>,
    private readonly maxOpen = MAX_OPEN,
  ) {}

  async use<T>(digest: string, task: (reader: BlobReader) => Promise<T>): Promise<T> {
    const entry = this.take(digest);
    entry.users++;
    try {
      return await task(await entry.opening);
    } catch (error) {
      this.drop(digest, entry);
      throw error;
    } finally {
      entry.users--;
      this.closeIfUnused(entry);
    }
  }

  forget(digest: string): void {
    const entry = this.entries.get(digest);
    if (entry) this.drop(digest, entry);
  }

  clear(): void {
    for (const [digest, entry] of this.entries) this.drop(digest, entry);
  }

  private take(digest: string): Entry {
    const known = this.entries.get(digest);
    this.entries.delete(digest);
    const entry = known ?? { opening: this.open(digest), users: 0, isDropped: false };
    this.entries.set(digest, entry);
    const [oldest] = this.entries;
    if (oldest && this.entries.size > this.maxOpen) this.drop(...oldest);
    return entry;
  }

  private drop(digest: string, entry: Entry): void {
    if (this.entries.get(digest) === entry) this.entries.delete(digest);
    entry.isDropped = true;
    this.closeIfUnused(entry);
  }

  private closeIfUnused(entry: Entry): void {
    if (!entry.isDropped || entry.users > 0) return;
    entry.users = Infinity;
    entry.opening.then((reader) => reader.close()).catch(() => undefined);
  }
}
