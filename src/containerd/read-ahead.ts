import { type ContentStore } from '../content/index.js';

/** What is read from disk at once. */
const WINDOW_BYTES = 1 << 20;

/** Layers that are unpacked at the same time; each keeps two windows. */
const MAX_BLOBS = 16;

interface Window {
  readonly start: number;
  readonly data: Promise<Buffer>;
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

  constructor(private readonly store: ContentStore) {}

  /** May be fewer bytes than asked for; at least one, if there are any. */
  async read(digest: string, offset: number, length: number): Promise<Buffer> {
    if (length >= WINDOW_BYTES) return this.store.read(digest, offset, WINDOW_BYTES);
    const windows = this.windowsAt(digest, offset);
    const { start, data } = windows.current;
    try {
      const bytes = await data;
      return bytes.subarray(offset - start, offset - start + length);
    } catch (error) {
      this.blobs.delete(digest);
      throw error;
    }
  }

  forget(digest: string): void {
    this.blobs.delete(digest);
    this.store.forget(digest);
  }

  private windowsAt(digest: string, offset: number): Windows {
    const known = this.blobs.get(digest);
    if (known && contains(known.current, offset)) return known;
    const windows =
      known?.next && contains(known.next, offset) ? advance(known) : this.openAt(digest, offset);
    const end = windows.current.start + WINDOW_BYTES;
    windows.next = this.window(digest, end);
    return windows;
  }

  private openAt(digest: string, offset: number): Windows {
    const windows = { current: this.window(digest, offset), next: undefined };
    this.blobs.delete(digest);
    this.blobs.set(digest, windows);
    const [oldest] = this.blobs.keys();
    if (oldest !== undefined && this.blobs.size > MAX_BLOBS) this.blobs.delete(oldest);
    return windows;
  }

  private window(digest: string, start: number): Window {
    const data = this.store.read(digest, start, WINDOW_BYTES);
    data.catch(() => undefined);
    return { start, data };
  }
}

function contains({ start }: Window, offset: number): boolean {
  return offset >= start && offset < start + WINDOW_BYTES;
}

function advance(windows: Windows): Windows {
  windows.current = windows.next!;
  return windows;
}
