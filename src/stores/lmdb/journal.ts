import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Cursor } from '../state-store.interface.js';
import { StoreError } from '../store.error.js';
import { type Appended, JournalFile } from './journal-file.js';
import { findFrames, type Frame, FrameEncoder } from './journal-frame.js';
import { type SavedChange } from './saved-change.js';
import { flushPath } from './store-directory.js';

const NAME = /^journal-(\d+)-[01]$/;

function pathsOf(directory: string, nonce: number): readonly [string, string] {
  return [join(directory, `journal-${nonce}-0`), join(directory, `journal-${nonce}-1`)];
}

/** The owners that have left journals in the directory. */
export function journalsIn(directory: string): number[] {
  const nonces = readdirSync(directory).flatMap((name) => NAME.exec(name)?.[1] ?? []);
  return [...new Set(nonces)].map(Number);
}

/** The journal of this owner is not needed any more. */
export function removeJournal(directory: string, nonce: number): void {
  for (const path of pathsOf(directory, nonce)) rmSync(path, { force: true });
}

/**
 * What an owner has journalled after this revision, in order. Each frame was on disk before the next was begun, so that a crash
 * can only have spoilt the last: `STORE_UNREADABLE` if one before it is missing.
 */
export function readJournal(directory: string, nonce: number, after: Cursor): readonly Frame[] {
  const frames = pathsOf(directory, nonce)
    .flatMap((path) => findFrames(read(path), nonce))
    .filter(({ revision }) => revision > after)
    .sort((a, b) => a.revision - b.revision);
  for (let i = 0; i < frames.length; i++) {
    const { previous } = frames[i]!;
    const follows = i === 0 ? previous <= after : previous === frames[i - 1]!.revision;
    if (!follows) throw unreadable(directory, 'a part of it is damaged');
  }
  return frames;
}

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw unreadable(path, `it cannot be read (${(error as Error).message})`, error);
  }
}

function unreadable(path: string, damage: string, cause?: unknown): StoreError {
  return new StoreError(
    'STORE_UNREADABLE',
    'open',
    `The journal in ${path} holds the newest commits, and ${damage}. Nothing was changed. Restore the directory from a backup, or move it away to start anew.`,
    cause,
  );
}

/**
 * The newest commits, group behind group, in two files in turn: while what is in one finds its way into the database, the
 * other takes what comes. Both are there from the beginning: an owner that has been fenced out makes no file that somebody could
 * take for one of a living owner.
 */
export class Journal {
  private last: Cursor = 0;
  private readonly encoder: FrameEncoder;
  private live: JournalFile;
  private other: JournalFile;

  constructor(
    private readonly directory: string,
    private readonly nonce: number,
  ) {
    this.encoder = new FrameEncoder(nonce);
    const [first, second] = pathsOf(directory, nonce);
    this.live = new JournalFile(first);
    this.other = new JournalFile(second);
    flushPath(directory);
  }

  /** How much the file in use holds. */
  get bytes(): number {
    return this.live.bytes;
  }

  async append(changes: readonly SavedChange[], revision: Cursor): Promise<Appended> {
    const appended = await this.live.append(this.encoder.encode({ revision, previous: this.last, changes }));
    if (appended.status === 'written') this.last = revision;
    return appended;
  }

  /** Goes on at the beginning of the other file, whose contents nobody needs. */
  turnOver(): void {
    [this.live, this.other] = [this.other, this.live];
    this.live.rewind();
  }

  close(): void {
    this.live.close();
    this.other.close();
  }

  remove(): void {
    removeJournal(this.directory, this.nonce);
  }
}
