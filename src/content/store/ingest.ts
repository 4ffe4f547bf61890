import { createHash, type Hash } from 'node:crypto';
import { join } from 'node:path';
import { ContentError, errnoOf } from '../errors.js';
import { digestOf } from '../digest.js';
import { type ContentFile, type ContentFileSystem, ifThere } from './file-system.js';

/** What is written down beside the bytes, for `statuses` and for those who clear up. */
export interface IngestAbout {
  readonly ref: string;
  readonly nodeId: string;
  /** The fencing token of the writer's hold; 0: none. */
  readonly token: number;
  readonly digest?: string | undefined;
  readonly total?: number | undefined;
  readonly startedAtMs: number;
}

export const ABOUT = 'about.json';
export const DATA = 'data';

/** File systems without hard links say one of these. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Bytes on their way into the store, by one writer, into a file nobody else ever opened for writing: whoever resumes copies,
 * so that a paused writer of the same node cannot change bytes that were already counted into the digest.
 *
 * Not for concurrent use. After an error of `write` it is of no use: how much reached the disk is not known.
 */
export class Ingest {
  private hash: Hash = createHash('sha256');
  private written = 0;
  private isOpen = true;
  private digested: string | undefined;
  private changedAtMs = 0;

  constructor(
    private readonly fs: ContentFileSystem,
    private readonly directory: string,
    private readonly file: ContentFile,
    readonly about: IngestAbout,
    private readonly onClosed: () => void,
  ) {}

  /** How many bytes there are. */
  get offset(): number {
    return this.written;
  }

  /** The digest of the bytes so far. */
  get digest(): string {
    return this.digested ?? digestOf(this.hash.copy().digest('hex'));
  }

  /** When the finished bytes were last changed, by the file system's own clock, as of everything in the store. */
  get finishedAtMs(): number {
    return this.changedAtMs;
  }

  async write(data: Uint8Array): Promise<void> {
    if (!this.isOpen) throw new ContentError('CLOSED', `The ingest of ${this.about.ref} was closed.`);
    const writing = this.writeAll(data);
    this.hash.update(data);
    await writing;
    this.written += data.length;
  }

  /** From the first byte, as if nothing had been written. */
  async restart(): Promise<void> {
    if (!this.isOpen) throw new ContentError('CLOSED', `The ingest of ${this.about.ref} was closed.`);
    await this.file.truncate(0);
    this.hash = createHash('sha256');
    this.written = 0;
  }

  /** On disk. Nothing can be written after it. */
  async finish(): Promise<void> {
    if (!this.isOpen) return;
    await this.file.sync();
    this.changedAtMs = (await this.file.stat()).mtimeMs;
    this.digested = digestOf(this.hash.digest('hex'));
    await this.close();
  }

  /** Gives the finished bytes their name in the store. What is there already stays, unless it is to be replaced. */
  async publish(path: string, replaces: boolean): Promise<void> {
    const data = join(this.directory, DATA);
    if (replaces) return this.fs.rename(data, path);
    try {
      await this.fs.link(data, path);
    } catch (error) {
      const code = errnoOf(error) ?? '';
      if (NO_LINKS.has(code)) return this.fs.rename(data, path);
      if (code !== 'EEXIST') throw error;
    }
  }

  /** The bytes stay, to be resumed. */
  async close(): Promise<void> {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.onClosed();
    await this.file.close();
  }

  async remove(): Promise<void> {
    await this.close();
    await removeIngest(this.fs, this.directory);
  }

  private async writeAll(data: Uint8Array): Promise<void> {
    for (let at = 0; at < data.length;) {
      const { bytesWritten } = await this.file.write(data, at, data.length - at, this.written + at);
      at += bytesWritten;
    }
  }
}

/** The bytes first: a directory without them is nothing to anybody. */
export async function removeIngest(fs: ContentFileSystem, directory: string): Promise<void> {
  await ifThere(fs.unlink(join(directory, DATA)));
  await ifThere(fs.unlink(join(directory, ABOUT)));
  await ifThere(fs.rmdir(directory));
}

/** Whose ingest it is; `undefined` if it was never begun properly, or is gone. */
export async function readAbout(fs: ContentFileSystem, directory: string): Promise<IngestAbout | undefined> {
  const file = await ifThere(fs.open(join(directory, ABOUT), 'r'));
  if (!file) return undefined;
  try {
    const about: unknown = JSON.parse(await file.readFile('utf8'));
    return isAbout(about) ? about : undefined;
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}

function isAbout(value: unknown): value is IngestAbout {
  if (typeof value !== 'object' || value === null) return false;
  const { ref, nodeId, token } = value as Record<string, unknown>;
  return typeof ref === 'string' && typeof nodeId === 'string' && typeof token === 'number';
}
