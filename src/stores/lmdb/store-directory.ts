import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { StoreError } from '../store.error.js';
import { DATA_FILE } from './data-file-check.js';
import { isOwnerSocket } from './owner-socket.js';

/** Says that the directory is a state directory of ours, and in which format. Written last when it is made. */
const FORMAT_FILE = 'holdfast.json';
const UNFINISHED_FORMAT_FILE = 'holdfast.json.new';
const LOCK_FILE = 'lock.mdb';
const ROOM_FILE = 'room.probe';

/** Version 1 had no journal: a Holdfast that does not know of it would miss the newest commits. */
const FORMAT = { format: 'holdfast-state', version: 2 };
const READABLE_VERSIONS: ReadonlySet<unknown> = new Set([1, FORMAT.version]);

/** Every fresh ext4 volume has it. */
const LOST_AND_FOUND = 'lost+found';

/** More than LMDB writes when it is opened: two meta pages, its lock table, our first record. */
const ROOM_BYTES = 128 * 1024;

/**
 * The directory of a `file:` store: tells ours from others', and makes a new one so that a crash at any moment
 * leaves either nothing or a directory the next start finishes. Foreign, newer or half-lost directories are
 * refused with `STORE_UNREADABLE` and left as they are.
 */
export class StoreDirectory {
  readonly path: string;

  /** An earlier version wrote it, and does not know how this one does. */
  isOutdated = false;

  constructor(path: string) {
    this.path = resolve(path);
  }

  /** Makes the directory if there is none. Changes nothing in one that is there. */
  prepare(): void {
    this.attempt('create', () => makeDirectory(this.path));
    const names = this.attempt('read', () => readdirSync(this.path));
    if (names.includes(FORMAT_FILE)) return this.assertKnownFormat();
    if (names.includes(UNFINISHED_FORMAT_FILE)) return;
    const foreign = names.filter((name) => name !== LOST_AND_FOUND && !isOwnerSocket(name));
    if (foreign.length > 0) {
      throw this.unreadable(`it is not empty and not a Holdfast state directory (it contains ${foreign[0]})`);
    }
  }

  /** True if there is state to open; false if the database is still to be made, or to be made again. */
  hasState(): boolean {
    if (!readdirSync(this.path).includes(FORMAT_FILE)) return false;
    const data = statSync(join(this.path, DATA_FILE), { throwIfNoEntry: false });
    if (!data || data.size === 0) throw this.unreadable(`its database ${DATA_FILE} is missing or empty`);
    return true;
  }

  /** LMDB ends the process if it is opened without the right or the room to write; this finds out first. */
  assertWritable(): void {
    this.attempt('write to', () => {
      for (const name of [DATA_FILE, LOCK_FILE]) assertWritableFile(join(this.path, name));
      try {
        writeFlushed(join(this.path, ROOM_FILE), Buffer.alloc(ROOM_BYTES));
      } finally {
        rmSync(join(this.path, ROOM_FILE), { force: true });
      }
    });
  }

  /** Until its format is declared the directory holds nothing of value: a start that did not get there is undone. */
  beginCreation(): void {
    this.attempt('write to', () => {
      this.writeFormat();
      rmSync(join(this.path, DATA_FILE), { force: true });
      rmSync(join(this.path, LOCK_FILE), { force: true });
      flushPath(this.path);
    });
  }

  /** Says that the directory is ours, as this version writes it. */
  declareFormat(): void {
    this.attempt('write to', () => {
      this.writeFormat();
      flushPath(this.path);
      renameSync(join(this.path, UNFINISHED_FORMAT_FILE), join(this.path, FORMAT_FILE));
      flushPath(this.path);
    });
  }

  unavailable(verb: string, cause: Error): StoreError {
    const message = `Cannot ${verb} the state directory ${this.path}: ${cause.message}. See to its permissions and free space.`;
    return new StoreError('STORE_UNAVAILABLE', 'open', message, cause);
  }

  private assertKnownFormat(): void {
    const text = this.attempt('read', () => readFileSync(join(this.path, FORMAT_FILE), 'utf8'));
    let found: Partial<typeof FORMAT>;
    try {
      found = JSON.parse(text) as Partial<typeof FORMAT>;
    } catch {
      throw this.unreadable(`its ${FORMAT_FILE} is damaged`);
    }
    if (found?.format !== FORMAT.format) throw this.unreadable(`its ${FORMAT_FILE} is not Holdfast's`);
    this.isOutdated = found.version !== FORMAT.version;
    if (!READABLE_VERSIONS.has(found.version)) {
      throw this.unreadable(
        `it has format version ${found.version}, and this Holdfast reads versions up to ${FORMAT.version}`,
      );
    }
  }

  private writeFormat(): void {
    writeFlushed(join(this.path, UNFINISHED_FORMAT_FILE), Buffer.from(`${JSON.stringify(FORMAT)}\n`));
  }

  private attempt<T>(verb: string, action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw this.unavailable(verb, error as Error);
    }
  }

  private unreadable(why: string): StoreError {
    const message = `Cannot use ${this.path} as state directory: ${why}. Nothing was changed; choose another directory or restore this one.`;
    return new StoreError('STORE_UNREADABLE', 'open', message);
  }
}

/** Not `mkdirSync`'s own recursion: where nothing can be made, as in /proc, that loops for ever in Node 20. */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  makeDirectory(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  flushPath(dirname(path));
}

function assertWritableFile(path: string): void {
  if (existsSync(path)) closeSync(openSync(path, 'r+'));
}

function writeFlushed(path: string, bytes: Buffer): void {
  const file = openSync(path, 'w');
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A file, or the names in a directory. */
export function flushPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
