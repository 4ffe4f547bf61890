import { closeSync, constants, fdatasync, ftruncate, openSync, write } from 'node:fs';
import { promisify } from 'node:util';
import { blockMemory } from './blocks.js';

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
 * whole blocks. They go past the page cache until that fails: whether a file system takes it is known only from the writing.
 */
export class JournalFile {
  private end = 0;
  private file: number;
  /** What goes past the page cache is written from here. */
  private memory: Buffer | undefined;

  constructor(readonly path: string) {
    this.file = openSync(path, FLAGS | NEW, 0o600);
    try {
      const memory = blockMemory();
      this.reopen(FLAGS | constants.O_DIRECT);
      this.memory = memory;
    } catch {
      // Through the page cache, then.
    }
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
        at += await this.writeSome(bytes.subarray(at), start + at);
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

  /** How much of it was written. */
  private async writeSome(bytes: Buffer, position: number): Promise<number> {
    if (!this.memory) return (await writeAt(this.file, bytes, 0, bytes.length, position)).bytesWritten;
    const length = bytes.copy(this.memory);
    try {
      return (await writeAt(this.file, this.memory, 0, length, position)).bytesWritten;
    } catch {
      this.reopen(FLAGS);
      this.memory = undefined;
      return 0;
    }
  }

  private reopen(flags: number): void {
    const file = openSync(this.path, flags);
    closeSync(this.file);
    this.file = file;
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
