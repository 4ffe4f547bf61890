import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ContentError } from '../../content/index.js';

/** Whole or not at all, also after a crash: written beside it, synced, renamed, the directory synced. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const directory = dirname(path);
  const draft = join(directory, `.${basename(path)}.${randomBytes(6).toString('hex')}`);
  try {
    await mkdir(directory, { recursive: true });
    const file = await open(draft, 'wx');
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await unlink(draft).catch(() => undefined);
    throw ContentError.from(`writing ${path}`, error);
  }
  await syncDirectory(directory);
}

/** Gone, also after a crash; no complaint if it was not there. */
export async function removeDurably(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  await syncDirectory(dirname(path));
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
