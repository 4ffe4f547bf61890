import { type ContentStore } from '../content/index.js';
import { BufferPool } from './buffer-pool.js';

/** What is read from disk at once. */
const WINDOW_BYTES = 1 << 20;

/** Layers that are unpacked at the same time; each keeps two windows. */
const MAX_BLOBS = 16;

/** Windows that wait to be used again. */
const MAX_SPARE = 4;

/**
 * All at the same time: twice what the blobs above keep. The others are for answers that clients are slow to take; there may be
 * ten thousand of those, so whoever comes then gets a small piece that is read for it alone.
 */
const MAX_WINDOWS = 4 * MAX_BLOBS;
const SMALL_BYTES = 32 * 1024;

/** Bytes of a blob, until they are released. */
export interface Lease {
  readonly data: Buffer;
  release(): void;
}

/** A part of a blob, in memory that is given back when the last user has left. */
class Window {
  readonly data: Promise<Buffer>;
  private users = 1;

  constructor(
    readonly start: number,
    read: (memory: Buffer) => Promise<Buffer>,
    private readonly pool: BufferPool,
    private readonly onGone: () => void,
  ) {
    this.memory = pool.take();
    this.data = read(this.memory);
    this.data.catch(() => undefined);
  }

  private readonly memory: Buffer;

  contains(offset: number): boolean {
    return offset >= this.start && offset < this.start + WINDOW_BYTES;
  }

  async lease(offset: number, length: number): Promise<Lease> {
    this.users++;
    try {
      const bytes = await this.data;
      const at = offset - this.start;
      return { data: bytes.subarray(at, at + length), release: () => this.leave() };
    } catch (error) {
      this.leave();
      throw error;
    }
  }

  /** What is being read into memory is awaited. */
  leave(): void {
    if (--this.users > 0) return;
    const give = () => {
      this.pool.give(this.memory);
      this.onGone();
    };
    this.data.then(give, give);
  }
}

interface Windows {
  current: Window;
  next: Window | undefined;
}

/**
 * Unpacking a layer asks for it 32 KB at a time, one call after the other. These are answered from windows of a megabyte, of
 * which the next is on its way while one is being read. Blobs never change: what is in a window is right for ever.
 */
export class ReadAhead {
  private readonly blobs = new Map<string, Windows>();
  private readonly pool = new BufferPool(WINDOW_BYTES, MAX_SPARE);
  private windows = 0;

  constructor(private readonly store: ContentStore) {}

  /** May be fewer bytes than asked for; at least one, if there are any. Release them. */
  async read(digest: string, offset: number, length: number): Promise<Lease> {
    const isLong = length >= WINDOW_BYTES;
    const isAtHand = !isLong && this.blobs.get(digest)?.current.contains(offset) === true;
    if (this.windows >= MAX_WINDOWS && !isAtHand) return this.readSmall(digest, offset, length);
    if (isLong) return this.readOnce(digest, offset);
    const { current } = this.windowsAt(digest, offset);
    try {
      return await current.lease(offset, length);
    } catch (error) {
      this.drop(digest);
      throw error;
    }
  }

  forget(digest: string): void {
    this.drop(digest);
    this.store.forget(digest);
  }

  private async readOnce(digest: string, offset: number): Promise<Lease> {
    const window = this.window(digest, offset);
    const lease = window.lease(offset, WINDOW_BYTES);
    window.leave();
    return lease;
  }

  private async readSmall(digest: string, offset: number, length: number): Promise<Lease> {
    const data = await this.store.read(digest, offset, Math.min(length, SMALL_BYTES));
    return { data, release: () => undefined };
  }

  private windowsAt(digest: string, offset: number): Windows {
    const known = this.blobs.get(digest);
    if (known?.current.contains(offset)) return known;
    const windows = known?.next?.contains(offset) ? advance(known) : this.openAt(digest, offset);
    windows.next = this.window(digest, windows.current.start + WINDOW_BYTES);
    return windows;
  }

  private openAt(digest: string, offset: number): Windows {
    this.drop(digest);
    const windows = { current: this.window(digest, offset), next: undefined };
    this.blobs.set(digest, windows);
    const [oldest] = this.blobs.keys();
    if (oldest !== undefined && this.blobs.size > MAX_BLOBS) this.drop(oldest);
    return windows;
  }

  private drop(digest: string): void {
    const windows = this.blobs.get(digest);
    this.blobs.delete(digest);
    windows?.current.leave();
    windows?.next?.leave();
  }

  private window(digest: string, start: number): Window {
    const read = (memory: Buffer) => this.store.read(digest, start, WINDOW_BYTES, memory);
    this.windows++;
    return new Window(start, read, this.pool, () => this.windows--);
  }
}

function advance(windows: Windows): Windows {
  windows.current.leave();
  windows.current = windows.next!;
  return windows;
}
