import { existsSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { getLastVersion } from 'lmdb';
import { type Cursor, type Item } from '../state-store.interface.js';
import { StoreError } from '../store.error.js';
import { assertSoundDataFile, DATA_FILE } from './data-file-check.js';
import { type Environment, OWNER_RECORD, openEnvironment } from './environment.js';
import { type GroupResult, type NotWritten } from './group-committer.js';
import { type SavedChange } from './saved-change.js';
import { flushPath } from './store-directory.js';

/** What the database says of itself, beside the items. */
export interface OwnerRecord {
  /** The newest revision given out, as far as this database has the changes; those after it are in the journal. */
  readonly revision: Cursor;
  /** The owner whose journal has the changes after that; `undefined`: there are none. */
  readonly journal: number | undefined;
}

/** Encoding so many takes about a millisecond: other requests get their turn between two transactions. */
const CHANGES_PER_TRANSACTION = 200;

/**
 * The LMDB database of one owner.
 *
 * Promises: a transaction is all or nothing, on disk before it says `written`, and changes nothing once another
 * process has taken ownership. Reads see everything written, and nothing that is not on disk. When LMDB gives
 * up on its environment (its meta page could not be written) the database is reopened before the next use.
 * Does not promise: to survive a file that is changed or cut short while it is open.
 */
export class LmdbDatabase {
  private broken = false;
  private recovery: Promise<void> | undefined;

  private constructor(
    private readonly directory: string,
    private readonly nonce: number,
    private environment: Environment,
  ) {}

  /** `nonce`: a number no other opener has, by which the others see that the database is no longer theirs. */
  static open(directory: string, nonce: number): LmdbDatabase {
    assertSoundDataFile(directory);
    try {
      flushData(directory);
      return new LmdbDatabase(directory, nonce, openEnvironment(directory));
    } catch (error) {
      const reason = (error as Error).message;
      throw new StoreError('STORE_UNAVAILABLE', 'open', `Cannot open ${directory}: ${reason}.`, error);
    }
  }

  /**
   * Every earlier owner is fenced out from here on. Returns the record as it was; there must be one unless the database is `fresh`.
   * `assertMayTake` throws when the directory has passed on, or must be left as it is. It is asked inside the transaction: whoever
   * took the directory last writes its record last, nobody who has lost it fences out who has it, and what the record says stays true.
   */
  takeOwnership(fresh: OwnerRecord | undefined, assertMayTake: (record: OwnerRecord) => void): OwnerRecord {
    try {
      return this.environment.transactionSync(() => {
        const record = fresh ?? this.record();
        assertMayTake(record);
        this.environment.putSync(OWNER_RECORD, recordText(record), this.nonce);
        return record;
      });
    } catch (error) {
      throw error instanceof StoreError ? error : this.refusal({ status: 'failed', cause: error as Error });
    }
  }

  /** Throws `STORE_UNREADABLE` if there is none. */
  record(): OwnerRecord {
    const [revision, journal] = (this.environment.get(OWNER_RECORD) ?? '').split(' ').map(Number);
    if (revision && Number.isSafeInteger(revision)) return { revision, journal };
    const message = `The database in ${this.directory} is not Holdfast's: it has no record of its newest revision.`;
    throw new StoreError('STORE_UNREADABLE', 'open', message);
  }

  /** Nobody has taken ownership since. Throws when the database cannot be read. */
  isOwned(): boolean {
    // A read that goes on in an old snapshot would not notice.
    this.environment.resetReadTxn();
    return this.environment.getBinaryFast(OWNER_RECORD) !== undefined && getLastVersion() === this.nonce;
  }

  async ready(): Promise<void> {
    if (!this.broken) return;
    this.recovery ??= this.recover().finally(() => (this.recovery = undefined));
    await this.recovery;
  }

  storedRevision(key: string): number | undefined {
    return this.reading(() => {
      const found = this.environment.getBinaryFast(key) !== undefined;
      return found ? getLastVersion() : undefined;
    });
  }

  item(key: string): Item | undefined {
    const entry = this.reading(() => this.environment.getEntry(key));
    return entry && { key, revision: entry.version!, value: entry.value };
  }

  /** The items from this key on, or behind it, in key order. */
  page(start: string, exclusiveStart: boolean, limit: number): Item[] {
    return this.reading(() => {
      const items: Item[] = [];
      const range = { start, exclusiveStart, versions: true, limit };
      for (const { key, value, version } of this.environment.getRange(range)) {
        items.push({ key: key as string, revision: version!, value });
      }
      return items;
    });
  }

  /**
   * Writes the changes, in several transactions if there are many, and with the last of them the record. Never rejects. Unless it
   * says `written`, any of the changes may be there, and the record is the old one or the new.
   */
  async write(changes: Iterable<SavedChange>, record: OwnerRecord): Promise<GroupResult> {
    try {
      await this.ready();
    } catch (error) {
      return { status: 'failed', cause: error as Error };
    }
    let some: SavedChange[] = [];
    for (const change of changes) {
      some.push(change);
      if (some.length < CHANGES_PER_TRANSACTION) continue;
      const result = await this.writeTogether(some);
      if (result.status !== 'written') return result;
      some = [];
    }
    return this.writeTogether(some, record);
  }

  /** For who asked for this to be written. */
  refusal(result: NotWritten): StoreError {
    const certainty =
      result.status === 'failed' ? 'Nothing was written. ' : 'It is not known what was written. ';
    return this.trouble(result, certainty);
  }

  /** For who cannot be served because of it, and may have asked for something before of which that is not known. */
  trouble(result: NotWritten, certainty = ''): StoreError {
    if (result.status === 'fenced') {
      const message = `Another process has taken over the state in ${this.directory}. This process must end.`;
      return new StoreError('STORE_IN_USE', 'commit', message);
    }
    if (result.cause instanceof StoreError) return result.cause;
    return new StoreError(
      'STORE_UNAVAILABLE',
      'commit',
      `Cannot write to ${this.directory}: ${result.cause.message}, ${freeSpace(this.directory)}. ` +
        `${certainty}Make room or see to the disk; the store goes on by itself.`,
      result.cause,
    );
  }

  async close(): Promise<void> {
    await this.environment.close();
  }

  private async writeTogether(changes: readonly SavedChange[], record?: OwnerRecord): Promise<GroupResult> {
    try {
      const owned = await this.environment.ifVersion(OWNER_RECORD, this.nonce, () => {
        for (const change of changes) this.writeChange(change);
        if (record) void this.environment.put(OWNER_RECORD, recordText(record), this.nonce);
      });
      // What was just written is not in the snapshot of a read that has begun.
      this.environment.resetReadTxn();
      return { status: owned ? 'written' : 'fenced' };
    } catch (error) {
      return { status: this.canRead() ? 'failed' : 'unknown', cause: await causeOf(error) };
    }
  }

  private reading<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      const reason = (error as Error).message;
      throw new StoreError('STORE_UNREADABLE', 'get', `Cannot read ${this.directory}: ${reason}.`, error);
    }
  }

  private writeChange({ key, value, revision }: SavedChange): void {
    if (value === undefined) void this.environment.remove(key);
    else void this.environment.put(key, value, revision);
  }

  /** A failed transaction leaves the old state in place, unless LMDB could not even write its meta page. */
  private canRead(): boolean {
    try {
      this.isOwned();
    } catch {
      this.broken = true;
    }
    return !this.broken;
  }

  /** Opens the files again and writes once, so that whatever is read from now on is on disk. */
  private async recover(): Promise<void> {
    try {
      flushData(this.directory);
    } catch (error) {
      throw this.trouble({ status: 'failed', cause: error as Error });
    }
    await this.environment.close();
    assertSoundDataFile(this.directory);
    this.environment = openEnvironment(this.directory);
    this.broken = false;
    const result = await this.writeTogether([], this.record());
    if (result.status === 'written') return;
    this.broken = true;
    throw this.trouble(result);
  }
}

/**
 * LMDB takes a meta page back that it could not flush, and does not flush that: after a power cut the page may be there again. By then
 * no page that it refers to may have been written over.
 */
function flushData(directory: string): void {
  const path = join(directory, DATA_FILE);
  if (existsSync(path)) flushPath(path);
}

function recordText({ revision, journal }: OwnerRecord): string {
  return journal === undefined ? `${revision}` : `${revision} ${journal}`;
}

/** lmdb rejects with a promise of the reason; it must be handled, or the process ends. */
async function causeOf(error: unknown): Promise<Error> {
  const { commitError } = error as { commitError?: Promise<never> };
  return commitError ? commitError.catch((cause: Error) => cause) : (error as Error);
}

function freeSpace(directory: string): string {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return `${bavail * bsize} bytes free there`;
  } catch {
    return 'free space unknown';
  }
}
