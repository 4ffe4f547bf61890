import { type Cursor, type Item } from '../state-store.interface.js';
import { StoreError } from '../store.error.js';
import { type GroupDatabase, type GroupResult, type NotWritten } from './group-committer.js';
import { type Frame } from './journal-frame.js';
import { Journal, journalsIn, readJournal, removeJournal } from './journal.js';
import { type LmdbDatabase, type OwnerRecord } from './lmdb-database.js';
import { type SavedChange } from './saved-change.js';

export interface TakeOver {
  readonly directory: string;
  /** The database's own: a number no other opener has. */
  readonly nonce: number;
  /** Revisions go on above this. */
  readonly floor: Cursor;
  /** The database has just been made; otherwise it must hold the record of an earlier owner. */
  readonly fresh: boolean;
  /** Throws when the directory has passed on to somebody else. */
  readonly assertCurrent: () => void;
}

/** As much as is journalled before it is saved: read in a moment by the next start, and the objects kept for it are few. */
const SAVE_AT_BYTES = 8 * 1024 * 1024;

/** As much as is journalled although nothing can be saved: all of it is in memory, and the next start has to read it. */
const FULL_AT_BYTES = 8 * SAVE_AT_BYTES;

type Unsaved = ReadonlyMap<string, SavedChange>;
const NOTHING: Unsaved = new Map();

/**
 * The database with a journal in front of it. A group goes to the journal, in one write, and is acknowledged then. What has
 * gathered there is saved into the database later, of each key only the last change. Until then it is in memory, too, so that
 * only the next owner ever reads the journal.
 *
 * The database's record says up to which revision it is saved, and whose journal has what is newer.
 *
 * Promises: reads see everything written, and nothing that is not on disk. From before `written` is said the changes are
 * in the journal or in the database, whenever the process ends. Nothing is `written` once another process has taken ownership.
 */
export class JournaledDatabase implements GroupDatabase {
  /** The last change of every key since the last saving began. */
  private unsaved = new Map<string, SavedChange>();
  private beingSaved: Unsaved = NOTHING;
  private saving: Promise<GroupResult> | undefined;
  /** Everything in the journal's other file has been saved. */
  private isOtherFree = true;
  /** A group may or may not be in the journal. */
  private inDoubt = false;
  private recovery: Promise<void> | undefined;
  private isClosing = false;

  private constructor(
    private readonly database: LmdbDatabase,
    private readonly journal: Journal,
    private readonly nonce: number,
    /** The newest one that was given to a group. */
    public revision: Cursor,
  ) {}

  /** Looks at everything before it changes anything: what cannot be read is left as it is. */
  static async takeOver(database: LmdbDatabase, opening: TakeOver): Promise<JournaledDatabase> {
    const { directory, nonce, floor, fresh, assertCurrent } = opening;
    // Whoever makes one later has taken ownership later.
    let abandoned: readonly number[] = [];
    const first = fresh ? { revision: floor, journal: undefined } : undefined;
    const record = database.takeOwnership(first, (found) => {
      assertCurrent();
      framesAfter(opening, found);
      abandoned = journalsIn(directory);
    });
    const frames = framesAfter(opening, record);
    const revision = Math.max(floor, record.revision, frames.at(-1)?.revision ?? 0);
    const journal = new Journal(directory, nonce);
    const changes = lastChanges(frames.flatMap((frame) => frame.changes));
    const result = await database.write(changes.values(), { revision, journal: nonce });
    if (result.status !== 'written') {
      journal.close();
      if (result.status !== 'unknown') journal.remove();
      throw database.refusal(result);
    }
    for (const owner of abandoned) removeJournal(directory, owner);
    return new JournaledDatabase(database, journal, nonce, revision);
  }

  /** Resolves when nothing is in doubt. */
  async ready(): Promise<void> {
    await this.database.ready();
    if (!this.inDoubt) return;
    this.recovery ??= this.recover().finally(() => (this.recovery = undefined));
    await this.recovery;
  }

  storedRevision(key: string): number | undefined {
    const change = this.unsavedChange(key);
    if (!change) return this.database.storedRevision(key);
    return change.value === undefined ? undefined : change.revision;
  }

  item(key: string): Item | undefined {
    const change = this.unsavedChange(key);
    return change ? itemOf(change) : this.database.item(key);
  }

  /** As of now: the last change of each key that the pages of the database may not show. */
  unsavedChanges(): ReadonlyMap<string, SavedChange> {
    return new Map([...this.beingSaved, ...this.unsaved]);
  }

  /** The saved items from this key on, or behind it, in key order. */
  page(start: string, exclusiveStart: boolean, limit: number): Item[] {
    return this.database.page(start, exclusiveStart, limit);
  }

  async write(changes: readonly SavedChange[], revision: Cursor): Promise<GroupResult> {
    while (this.journal.bytes >= FULL_AT_BYTES) {
      const saved = await this.startSaving();
      if (saved.status !== 'written')
        return saved.status === 'unknown' ? { ...saved, status: 'failed' } : saved;
    }
    const before = this.ownership();
    if (before.status !== 'written') return before;
    this.revision = revision;
    const appended = await this.journal.append(changes, revision);
    const after = this.ownership();
    // The next owner may have read the journal before this group was in it, or after, or before it was cut off again.
    if (after.status !== 'written') {
      this.inDoubt = true;
      return { status: 'unknown', cause: this.database.trouble(after) };
    }
    if (appended.status !== 'written') {
      this.inDoubt = appended.status === 'unknown';
      // There may be room in the other file, or on the disk once this one is written over.
      if (!this.inDoubt) void this.startSaving();
      return appended;
    }
    for (const change of changes) this.unsaved.set(change.key, change);
    if (this.journal.bytes >= SAVE_AT_BYTES) void this.startSaving();
    return appended;
  }

  refusal(result: NotWritten): StoreError {
    return this.database.refusal(result);
  }

  /** Saves everything: of a directory that was closed the journal is gone. */
  async close(): Promise<void> {
    this.isClosing = true;
    await this.saving;
    const { status } = await this.save(undefined);
    this.journal.close();
    if (status === 'written') this.journal.remove();
    await this.database.close();
  }

  private unsavedChange(key: string): SavedChange | undefined {
    return this.unsaved.get(key) ?? this.beingSaved.get(key);
  }

  private ownership(): GroupResult {
    try {
      return { status: this.database.isOwned() ? 'written' : 'fenced' };
    } catch (error) {
      return { status: 'failed', cause: error as Error };
    }
  }

  private startSaving(): Promise<GroupResult> {
    this.saving ??= this.save(this.nonce).finally(() => (this.saving = undefined));
    return this.saving;
  }

  /** Never called while a group is being written or saved. `journal`: who has what comes after it. Never rejects. */
  private async save(journal: number | undefined): Promise<GroupResult> {
    const { revision } = this;
    this.beingSaved = this.unsaved;
    this.unsaved = new Map();
    if (this.isOtherFree) this.journal.turnOver();
    const result = await this.database.write(this.beingSaved.values(), { revision, journal });
    this.isOtherFree = result.status === 'written';
    if (!this.isOtherFree) this.unsaved = new Map([...this.beingSaved, ...this.unsaved]);
    this.beingSaved = NOTHING;
    return result;
  }

  /** Once everything else is saved under a later revision, what was in doubt is out of the journal for good. */
  private async recover(): Promise<void> {
    await this.saving;
    // From here on closing saves everything, and after that there is no journal to name.
    if (this.isClosing) throw new StoreError('STORE_UNAVAILABLE', 'get', 'The store is being closed.');
    const result = await this.startSaving();
    if (result.status === 'written') this.inDoubt = false;
    else throw this.database.trouble(result);
  }
}

/**
 * A journal that somebody else has just removed, having saved it, is not damaged. Nor is one that an owner who is still alive has
 * continued in the other file while the first was being read; it cannot do so again before it has saved.
 */
function framesAfter(
  { directory, assertCurrent }: TakeOver,
  { journal, revision }: OwnerRecord,
): readonly Frame[] {
  if (journal === undefined) return [];
  try {
    return readJournal(directory, journal, revision);
  } catch {
    assertCurrent();
    return readJournal(directory, journal, revision);
  }
}

function lastChanges(changes: readonly SavedChange[]): Unsaved {
  return new Map(changes.map((change) => [change.key, change]));
}

function itemOf({ key, revision, value }: SavedChange): Item | undefined {
  return value === undefined ? undefined : { key, revision, value };
}
