import { closeSync, constants, fdatasync, ftruncate, openSync, write } from 'node:fs';
import { promisify } from 'node:util';

const writeAt = promisify(write);
const flush = promisify(fdatasync);
const cut = promisify(ftruncate);

/** A write returns when its bytes are on disk: one call where writing and flushing would be two. */
const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_DSYNC;

export type Appended =
  | { readonly status: 'written' }
  /** `failed`: certainly nothing of it is there. `unknown`: it may be. */
  | { readonly status: 'failed' | 'unknown'; readonly cause: Error };

const WRITTEN: Appended = { status: 'written' };

/** A file that grows the first time and is written over from its beginning after that, which takes the disk less. */
export class JournalFile {
  private end = 0;
  private readonly file: number;

  constructor(readonly path: string) {
    this.file = openSync(path, FLAGS, 0o600);
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
