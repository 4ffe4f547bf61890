import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { ContentError } from '../../content/index.js';
import {
  type ContentFileSystem,
  ifThere,
  realFileSystem,
  syncDirectory,
} from '../../content/store/file-system.js';

const DRAFT = /^\.(.+)\.[0-9a-f]{12}$/;

/** The name of the file that this was to become, if it is what a process has left that was killed in the middle of writing. */
export function draftOf(name: string): string | undefined {
  return DRAFT.exec(name)?.[1];
}

/** Whole or not at all, also after a crash: written beside it, synced, renamed, the directory synced. That one must be there to stay. */
export async function writeDurably(path: string, text: string, fs = realFileSystem): Promise<void> {
  const directory = dirname(path);
  const draft = join(directory, `.${basename(path)}.${randomBytes(6).toString('hex')}`);
  try {
    await writeSynced(fs, draft, text);
    await fs.rename(draft, path);
    await syncDirectory(fs, directory);
  } catch (error) {
    await fs.unlink(draft).catch(() => undefined);
    throw ContentError.from(`writing ${path}`, error);
  }
}

/** Gone, also after a crash; no complaint if it was not there. */
export async function removeDurably(path: string, fs = realFileSystem): Promise<void> {
  if (!(await ifThere(fs.unlink(path).then(() => true)))) return;
  await syncDirectory(fs, dirname(path));
}

async function writeSynced(fs: ContentFileSystem, path: string, text: string): Promise<void> {
  const file = await fs.open(path, 'wx');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
