import { randomBytes } from 'node:crypto';
import * as nodeFs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errnoOf } from '../errors.js';

/** The part of `node:fs/promises` that the store uses, as a parameter: tests fill the disk and pull the plug here. */
export interface ContentFileSystem {
  mkdir(path: string, options: { recursive: boolean }): Promise<string | undefined>;
  open(path: string, flags: 'r' | 'wx'): Promise<ContentFile>;
  readdir(path: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
  link(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  rmdir(path: string): Promise<void>;
}

export interface FileStat {
  readonly size: number;
  readonly mtimeMs: number;
}

export interface ContentFile {
  read(into: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
  write(
    from: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesWritten: number }>;
  readFile(encoding: 'utf8'): Promise<string>;
  writeFile(text: string): Promise<void>;
  stat(): Promise<FileStat>;
  truncate(length: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

export const realFileSystem: ContentFileSystem = nodeFs;

/** Entries made, renamed or removed in a directory are there after a crash once it is synced. */
export async function syncDirectory(fs: ContentFileSystem, path: string): Promise<void> {
  const directory = await fs.open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Makes a directory and what is missing above it, to stay. */
export async function makeDirectory(fs: ContentFileSystem, path: string): Promise<void> {
  const firstMade = await fs.mkdir(path, { recursive: true });
  if (firstMade === undefined) return;
  const wasThere = dirname(firstMade);
  for (let at = dirname(path); ; at = dirname(at)) {
    await syncDirectory(fs, at);
    if (at === wasThere || at === dirname(at)) return;
  }
}

/**
 * Makes one directory unless it is there; it stays once its parent is synced. Not `recursive`, which calls a read-only
 * file system "no such file".
 */
export async function makeOne(fs: ContentFileSystem, path: string): Promise<void> {
  try {
    await fs.mkdir(path, { recursive: false });
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}

/** The promise's value, or `undefined` where there is no such file or directory. */
export async function ifThere<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

export async function statIfThere(fs: ContentFileSystem, path: string): Promise<FileStat | undefined> {
  const file = await ifThere(fs.open(path, 'r'));
  if (!file) return undefined;
  try {
    return await file.stat();
  } finally {
    await file.close();
  }
}

/** The file system's own clock, by which the ages of files are told: that of a file server may differ from ours. */
export async function fileSystemNowMs(fs: ContentFileSystem, directory: string): Promise<number> {
  const path = join(directory, `now-${randomBytes(8).toString('hex')}`);
  const file = await fs.open(path, 'wx');
  try {
    return (await file.stat()).mtimeMs;
  } finally {
    await file.close();
    await fs.unlink(path);
  }
}

/** A directory that is gone as a whole, or was replaced under a network file system, is missing too. */
export function isMissing(error: unknown): boolean {
  const code = errnoOf(error);
  return code === 'ENOENT' || code === 'ESTALE';
}
