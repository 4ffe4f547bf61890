import { randomUUID } from 'node:crypto';
import * as nodeFs from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

const UUID_LENGTH = 36;
const TEMPORARY_SUFFIX = '.holdfast-tmp';

/** The part of `node:fs/promises` that is used, as a parameter: tests fill the disk and pull the plug here. */
export interface FileSystem {
  mkdir(path: string, options: { recursive: true }): Promise<string | undefined>;
  open(path: string, flags: 'r' | 'w'): Promise<OpenFile>;
  readdir(path: string): Promise<string[]>;
  readFile(path: string, encoding: 'utf8'): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { force: true }): Promise<void>;
}

export interface OpenFile {
  writeFile(text: string): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * A file that is replaced whole or not at all, whenever the process or the machine stops. A `replace` that resolved is
 * on disk. One that rejected left the previous content in place; only if the very last step failed (the directory's
 * fsync) may the new content be found there, now or after a crash. For one process: two would overwrite each other.
 */
export class DurableFile {
  readonly path: string;
  private readonly directory: string;
  /** Nobody else's: two processes that share the file by mistake lose changes but never mix their bytes. */
  private readonly temporary: string;

  constructor(
    path: string,
    private readonly fs: FileSystem = nodeFs,
  ) {
    this.path = resolve(path);
    this.directory = dirname(this.path);
    this.temporary = `${this.path}.${randomUUID()}${TEMPORARY_SUFFIX}`;
  }

  /** Makes the directory if need be and removes what an interrupted `replace` left. */
  async prepare(): Promise<void> {
    const firstMade = await this.fs.mkdir(this.directory, { recursive: true });
    if (firstMade !== undefined) await this.syncDirectories(dirname(firstMade));
    for (const name of await this.fs.readdir(this.directory)) {
      if (this.isLeftover(name)) await this.fs.rm(join(this.directory, name), { force: true });
    }
  }

  /** `undefined` if there is no such file. */
  async read(): Promise<string | undefined> {
    try {
      return await this.fs.readFile(this.path, 'utf8');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async replace(text: string): Promise<void> {
    try {
      await this.writeSynced(await this.fs.open(this.temporary, 'w'), text);
      await this.fs.rename(this.temporary, this.path);
    } catch (error) {
      // The write's error is the one to report; a leftover is removed by the next start at the latest.
      await this.fs.rm(this.temporary, { force: true }).catch(() => undefined);
      throw error;
    }
    await this.syncDirectory(this.directory);
  }

  private isLeftover(name: string): boolean {
    const start = `${basename(this.path)}.`;
    const length = start.length + UUID_LENGTH + TEMPORARY_SUFFIX.length;
    return name.length === length && name.startsWith(start) && name.endsWith(TEMPORARY_SUFFIX);
  }

  private async writeSynced(file: OpenFile, text: string): Promise<void> {
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** A new directory survives a crash once its parent is synced: every parent, up to the one that was there before. */
  private async syncDirectories(wasThere: string): Promise<void> {
    for (let at = dirname(this.directory); ; at = dirname(at)) {
      await this.syncDirectory(at);
      if (at === wasThere || at === dirname(at)) return;
    }
  }

  private async syncDirectory(path: string): Promise<void> {
    const directory = await this.fs.open(path, 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
