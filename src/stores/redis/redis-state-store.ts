import { decodeExact, encodeExact, exactText } from '../exact-utf8.js';
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
import { CommitBatch } from './commit-batch.js';
import { isMoved, isUnknownScript, otherFormat, unavailable } from './redis-faults.js';
import { assertKeyPrefix, type PartitionKeys, partitionKeys } from './redis-keys.js';
import { RedisFeedReader } from './redis-feed-reader.js';
import { RedisNodes } from './redis-nodes.js';
import { COMMIT_SCRIPT, OPEN_SCRIPT, PAGE_SCRIPT } from './redis-scripts.js';
import { assertUsableServer } from './redis-server-check.js';
import { type RedisSettings } from './redis-settings.js';
import { RedisWatch } from './redis-watch.js';

/** How the keys of a partition are laid out. A version that changes it refuses what an older one wrote. */
const FORMAT = '1';

/** Read in some milliseconds, so that commits get their turn between two pages. */
const ITEMS_PER_PAGE = 500;

/** A commit that a server refused before looking at it is sent again: to the right node, then with its script. */
const MOST_ATTEMPTS = 3;

/** UTF-8 never has this byte, so it comes after every key that begins with what stands before it. */
const AFTER_ALL = Buffer.from([0xff]);

/** ZRANGEBYLEX: behind what follows. */
const AFTER = Buffer.from('(');

const SPACE = 0x20;

interface Partition {
  readonly keys: PartitionKeys;
  /** The highest revision seen; no commit of ours may get one that is not above it. */
  newest: number;
}

/**
 * The state in Redis ≥ 6.2 or Valkey, shared by any number of processes: `redis://`, Sentinel, Cluster.
 *
 * Promises the port's guarantees for as long as one primary keeps what it acknowledged, and that revisions go on growing
 * over restarts and failovers that lost commits. Every call ends within the configured time.
 * Does not promise: that a commit outlives its primary. Replication is asynchronous and a disk is synced every second
 * by default; `wait` and `appendfsync always` narrow that (docs/engines.md).
 */
export class RedisStateStore implements StateStore {
  readonly shared = true;

  private readonly nodes: RedisNodes;
  /** By group of partitions that are read together. */
  private readonly readers: RedisFeedReader[][] = [];
  private partitions: readonly Partition[] = [];
  private closed = false;

  constructor(
    private readonly settings: RedisSettings,
    private readonly keyPrefix: string,
  ) {
    assertKeyPrefix(keyPrefix);
    this.nodes = new RedisNodes(settings, keyPrefix);
  }

  get partitionCount(): number {
    return this.partitions.length;
  }

  async open(): Promise<void> {
    if (this.partitions.length > 0) return;
    try {
      await this.nodes.open(1);
      const count = await this.storedPartitionCount();
      await this.nodes.open(count);
      this.partitions = Array.from({ length: count }, (_, n) => ({
        keys: partitionKeys(this.keyPrefix, n),
        newest: 0,
      }));
    } catch (error) {
      this.nodes.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    for (const reader of this.readers.flat()) reader.stop();
    this.nodes.close();
  }

  async get(partition: number, keys: readonly string[]): Promise<(Item | undefined)[]> {
    const { items } = this.serving('get', partition).keys;
    if (keys.length === 0) return [];
    const found = await this.nodes.ask(partition, 'get', (redis) =>
      redis.hmgetBuffer(items, ...keys.map(exactText)),
    );
    return keys.map((key, index) => (found[index] ? itemOf(key, found[index]) : undefined));
  }

  commit(partition: number, writes: readonly Write[]): Promise<CommitOutcome> {
    return this.commitMany([{ partition, writes }])[0]!;
  }

  commitMany(commits: readonly Commit[]): Promise<CommitOutcome>[] {
    const batches = new Map<unknown, CommitBatch>();
    const outcomes = commits.map((commit) => this.enter(commit, batches, MOST_ATTEMPTS));
    for (const batch of batches.values()) void batch.send();
    return outcomes;
  }

  async list(partition: number, prefix = ''): Promise<Listing> {
    const state = this.serving('list', partition);
    const last = await this.nodes.ask(partition, 'list', (redis) => redis.hget(state.keys.head, 'revision'));
    const cursor = Number(last ?? 0);
    state.newest = Math.max(state.newest, cursor);
    return { cursor, pages: this.pages(partition, state.keys, prefix) };
  }

  watch(partition: number, cursor: Cursor, observer: WatchObserver): Unwatch {
    const { keys } = this.serving('watch', partition);
    const watch = new RedisWatch(keys, cursor, observer);
    const reader = this.readerFor(partition, keys);
    reader.add(watch);
    return () => reader.remove(watch);
  }

  /** One for all partitions, except in a Cluster, where a reading must keep to one slot. */
  private readerFor(partition: number, keys: PartitionKeys): RedisFeedReader {
    const group = this.settings.mode === 'cluster' ? partition : 0;
    const readers = this.readers[group] ?? (this.readers[group] = []);
    const free = readers.find((reader) => reader.takes(keys));
    if (free) return free;
    const reader = new RedisFeedReader(this.nodes, partition);
    readers.push(reader);
    return reader;
  }

  private async storedPartitionCount(): Promise<number> {
    const { head } = partitionKeys(this.keyPrefix, 0);
    assertUsableServer(await this.nodes.ask(0, 'open', (redis) => redis.info()));
    const [format, count] = (await this.nodes.ask(0, 'open', (redis) =>
      redis.eval(OPEN_SCRIPT, 1, head, FORMAT, this.settings.partitions),
    )) as [string | null, string | null];
    if (format !== FORMAT) throw otherFormat('open', String(format), String(count));
    return Number(count);
  }

  private async enter(
    { partition, writes }: Commit,
    batches: Map<unknown, CommitBatch>,
    attempts: number,
  ): Promise<CommitOutcome> {
    const state = this.serving('commit', partition);
    assertCommittable(writes);
    try {
      const batch = this.batchFor(partition, batches);
      const outcome = await batch.add({ keys: state.keys, seen: state.newest, writes });
      if (outcome.status === 'committed') state.newest = Math.max(state.newest, outcome.revision);
      return outcome;
    } catch (error) {
      if (attempts === 1 || !(await this.canBeSentAgain(partition, error))) throw error;
    }
    const again = new Map<unknown, CommitBatch>();
    const outcome = this.enter({ partition, writes }, again, attempts - 1);
    for (const batch of again.values()) void batch.send();
    return outcome;
  }

  private batchFor(partition: number, batches: Map<unknown, CommitBatch>): CommitBatch {
    const connection = this.nodes.connectionOf(partition);
    const known = batches.get(connection);
    if (known) return known;
    const batch = new CommitBatch(connection.ready('commit'), {
      ...this.settings,
      format: FORMAT,
      partitions: this.partitionCount,
      historyBytes: this.settings.historyBytes(this.partitionCount),
      onePartitionPerCall: this.settings.mode === 'cluster',
    });
    batches.set(connection, batch);
    return batch;
  }

  /** Whether the server refused it only because it is the wrong one, or does not know the script: mended here. */
  private async canBeSentAgain(partition: number, error: unknown): Promise<boolean> {
    const reason = error instanceof StoreError ? error.cause : undefined;
    if (!(reason instanceof Error)) return false;
    if (isMoved(reason)) await this.nodes.locate();
    else if (isUnknownScript(reason)) {
      await this.nodes.ask(partition, 'commit', (redis) => redis.script('LOAD', COMMIT_SCRIPT));
    } else return false;
    return true;
  }

  private async *pages(
    partition: number,
    { index, items }: PartitionKeys,
    prefix: string,
  ): AsyncIterable<readonly Item[]> {
    const to = prefix === '' ? '+' : Buffer.concat([encodeExact(`(${prefix}`), AFTER_ALL]);
    let from = exactText(`[${prefix}`);
    for (;;) {
      const page = (await this.nodes.ask(partition, 'list', (redis) =>
        redis.callBuffer('EVAL', PAGE_SCRIPT, 2, index, items, from, to, ITEMS_PER_PAGE),
      )) as Page;
      if (page.length > 0) yield itemsOf(page);
      if (page.length < 2 * ITEMS_PER_PAGE) return;
      from = Buffer.concat([AFTER, page.at(-2)!]);
    }
  }

  private serving(operation: string, partition: number): Partition {
    const state = this.partitions[partition];
    if (this.closed || !state) throw unavailable(operation, 'The Redis store is not open.');
    return state;
  }
}

/** Keys and what is stored under them, in turn. */
type Page = readonly (Buffer | null)[];

/** What is only in the index was deleted by somebody who may not write there: it is no item, and must not keep anybody from the others. */
function itemsOf(page: Page): Item[] {
  const items: Item[] = [];
  for (let at = 0; at < page.length; at += 2) {
    const key = page[at]!;
    const stored = page[at + 1];
    if (stored) items.push(itemOf(decodeExact(key, 0, key.length), stored));
  }
  return items;
}

/** `<revision> <value>`. */
function itemOf(key: string, stored: Buffer): Item {
  const end = stored.indexOf(SPACE);
  const revision = Number(stored.toString('latin1', 0, end));
  return { key, revision, value: decodeExact(stored, end + 1, stored.length) };
}
