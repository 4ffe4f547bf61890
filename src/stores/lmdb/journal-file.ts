import { closeSync, constants, fdatasync, ftruncate, openSync, write, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { BLOCK_BYTES, blockBuffer } from './blocks.js';

const writeAt = promisify(write);
const flush = promisify(fdatasync);
const cut = promisify(ftruncate);

/** A write returns when its bytes are on disk: one call where writing and flushing would be two. */
const FLAGS = constants.O_RDWR | constants.O_DSYNC;
const NEW = constants.O_CREAT | constants.O_EXCL;

export type Appended =
  | { readonly status: 'written' }
  /** `failed`: certainly nothing of it is there. `unknown`: it may be. */
  | { readonly status: 'failed' | 'unknown'; readonly cause: Error };

const WRITTEN: Appended = { status: 'written' };

/**
 * A file that grows the first time and is written over from its beginning after that, which takes the disk less. What is appended are
 * whole blocks, which go past the page cache where the file system can do that.
 */
export class JournalFile {
  private end = 0;
  private readonly file: number;

  constructor(readonly path: string) {
    const cached = openSync(path, FLAGS | NEW, 0o600);
    const direct = openDirect(path);
    if (direct !== undefined) closeSync(cached);
    this.file = direct ?? cached;
  }

  /** How much was written since its beginning. */
  get bytes(): number {
    return this.end;
  }

  /** The next append goes to its beginning: nobody needs what is in it. */
  rewind(): void {
    this.end = 0;
  }

  /** Whether or not it works, the next append goes behind the last one that did. */
  async append(bytes: Buffer): Promise<Appended> {
    const start = this.end;
    try {
      for (let at = 0; at < bytes.length;) {
        at += (await writeAt(this.file, bytes, at, bytes.length - at, start + at)).bytesWritten;
      }
      this.end = start + bytes.length;
      return WRITTEN;
    } catch (error) {
      return { status: (await this.isCutAt(start)) ? 'failed' : 'unknown', cause: error as Error };
    }
  }

  close(): void {
    closeSync(this.file);
  }

  /** What a failed write has left may be whole: a crash would bring it back. Cutting needs no room on the disk. */
  private async isCutAt(end: number): Promise<boolean> {
    try {
      await cut(this.file, end);
      await flush(this.file);
      return true;
    } catch {
      return false;
    }
  }
}

/** Whether a file system takes direct writes is known only from one. */
function openDirect(path: string): number | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, FLAGS | constants.O_DIRECT);
    writeSync(file, blockBuffer(BLOCK_BYTES), 0, BLOCK_BYTES, 0);
    return file;
  } catch {
    if (file !== undefined) closeSync(file);
    return undefined;
  }
}
