import { randomInt } from 'node:crypto';
import { type Clock } from '../../common/clock.interface.js';
import { ChangeFeed } from '../change-feed.js';
import { assertCommittable } from '../limits.js';
import {
  type Commit,
  type CommitOutcome,
  type Cursor,
  type Item,
  type Listing,
  type StateStore,
  type Unwatch,
  type WatchObserver,
  type Write,
} from '../state-store.interface.js';
import { StoreError } from '../store.error.js';
import { GroupCommitter } from './group-committer.js';
import { JournaledDatabase } from './journaled-database.js';
import { LmdbDatabase } from './lmdb-database.js';
import { OwnerSocket } from './owner-socket.js';
import { StoreDirectory } from './store-directory.js';

/** Room for this many commits in a millisecond before the counter could run ahead of the wall clock. */
const REVISIONS_PER_MS = 1000;

/** Read in about a millisecond: other requests get their turn between two pages. */
const ITEMS_PER_PAGE = 500;

/** The largest range `randomInt` takes; two openers have the same nonce once in 10^14. */
const NONCES = 2 ** 48 - 1;

interface Serving {
  readonly database: JournaledDatabase;
  readonly committer: GroupCommitter;
  readonly feed: ChangeFeed;
  readonly socket: OwnerSocket;
}

/**
 * The state in one directory on this machine's disk, kept by LMDB behind a journal: `file:DIR`, the default.
 *
 * Promises the port's guarantees, and that a commit is acknowledged and shown only once it is on disk; that
 * one process at a time writes; that a full disk is an error and not the end; and that revisions go on above
 * the wall clock after the directory was wiped or an older copy of it put back.
 * Does not promise: change history across restarts (a cursor from before is `compacted`), or safety on a
 * network file system.
 */
export class LmdbStateStore implements StateStore {
  readonly partitionCount = 1;
  readonly exclusive = true;

  private readonly directory: StoreDirectory;
  private serving: Serving | undefined;
  private closing: Promise<void> | undefined;

  constructor(
    path: string,
    private readonly clock: Clock,
  ) {
    this.directory = new StoreDirectory(path);
  }

  async open(): Promise<void> {
    if (this.serving) return;
    this.directory.prepare();
    const socket = await this.claim();
    try {
      this.serving = await this.openDatabase(socket);
    } catch (error) {
      await socket.release();
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.serving) this.closing = this.shutDown(this.serving);
    this.serving = undefined;
    await this.closing;
  }

  async get(_partition: number, keys: readonly string[]): Promise<(Item | undefined)[]> {
    const { database } = this.assertServing('get');
    await database.ready();
    return keys.map((key) => database.item(key));
  }

  /** Not `async`, which would wrap the committer's promise in another one for every commit. */
  commit(_partition: number, writes: readonly Write[], call?: object): Promise<CommitOutcome> {
    try {
      const { committer } = this.assertServing('commit');
      assertCommittable(writes);
      return committer.commit(writes, call);
    } catch (error) {
      return Promise.reject(error as StoreError);
    }
  }

  commitMany(commits: readonly Commit[]): Promise<CommitOutcome>[] {
    return commits.map(({ partition, writes }) => this.commit(partition, writes, commits));
  }

  async list(_partition: number, prefix = ''): Promise<Listing> {
    return { cursor: this.assertServing('list').feed.last, pages: this.pages(prefix) };
  }

  watch(_partition: number, cursor: Cursor, observer: WatchObserver): Unwatch {
    return this.assertServing('watch').feed.watch(cursor, observer);
  }

  /**
   * First what is not saved yet, then what is, unless it was in the first. Each page is read afresh: a listing pins no old pages, and
   * what changed meanwhile is in the feed.
   */
  private async *pages(prefix: string): AsyncIterable<readonly Item[]> {
    await this.assertServing('list').database.ready();
    const unsaved = this.assertServing('list').database.unsavedChanges();
    const items = [...unsaved.values()].filter((change): change is Item => change.value !== undefined);
    const wanted = items.filter(({ key }) => key.startsWith(prefix));
    for (let at = 0; at < wanted.length; at += ITEMS_PER_PAGE) yield wanted.slice(at, at + ITEMS_PER_PAGE);
    for await (const page of this.savedPages(prefix)) {
      const others = page.filter(({ key }) => !unsaved.has(key));
      if (others.length > 0) yield others;
    }
  }

  private async *savedPages(prefix: string): AsyncIterable<readonly Item[]> {
    let from: { readonly key: string; readonly exclusive: boolean } = { key: prefix, exclusive: false };
    for (;;) {
      const { database } = this.assertServing('list');
      await database.ready();
      const page = database.page(from.key, from.exclusive, ITEMS_PER_PAGE);
      const wanted = page.filter(({ key }) => key.startsWith(prefix));
      yield wanted;
      if (wanted.length < ITEMS_PER_PAGE) return;
      from = { key: page.at(-1)!.key, exclusive: true };
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  private async claim(): Promise<OwnerSocket> {
    try {
      return await OwnerSocket.claim(this.directory.path);
    } catch (error) {
      throw error instanceof StoreError ? error : this.directory.unavailable('write to', error as Error);
    }
  }

  private async openDatabase(socket: OwnerSocket): Promise<Serving> {
    const fresh = !this.directory.hasState();
    if (fresh) this.directory.beginCreation();
    this.directory.assertWritable();
    const nonce = randomInt(1, NONCES);
    const lmdb = LmdbDatabase.open(this.directory.path, nonce);
    try {
      if (this.directory.isOutdated) this.directory.declareFormat();
      const database = await JournaledDatabase.takeOver(lmdb, {
        directory: this.directory.path,
        nonce,
        floor: this.clock.wallMs() * REVISIONS_PER_MS,
        fresh,
        assertCurrent: () => socket.assertCurrent(),
      });
      if (fresh) this.directory.declareFormat();
      // Who took the directory before it was declared has made everything in it anew.
      if (fresh) socket.assertCurrent();
      const { revision } = database;
      const feed = new ChangeFeed(revision);
      return { database, feed, socket, committer: new GroupCommitter(database, feed, revision) };
    } catch (error) {
      await lmdb.close();
      throw error instanceof StoreError ? error : this.directory.unavailable('write to', error as Error);
    }
  }

  private async shutDown({ committer, database, socket }: Serving): Promise<void> {
    await committer.idle();
    await database.close();
    await socket.release();
  }

  private assertServing(operation: string): Serving {
    if (this.serving) return this.serving;
    const message = `The store in ${this.directory.path} is not open.`;
    throw new StoreError('STORE_UNAVAILABLE', operation, message);
  }
}
