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
import { type AskedCommit, type OwnEntry } from './partition-commits.js';
import { RedisCommits } from './redis-commits.js';
import { otherFormat, unavailable } from './redis-faults.js';
import { assertKeyPrefix, type PartitionKeys, partitionKeys } from './redis-keys.js';
import { RedisFeedReader } from './redis-feed-reader.js';
import { RedisNodes } from './redis-nodes.js';
import { type RedisPartition } from './redis-partition.js';
import { OPEN_SCRIPT, PAGE_SCRIPT } from './redis-scripts.js';
import { assertUsableServer } from './redis-server-check.js';
import { Replicas } from './redis-replicas.js';
import { type RedisSettings } from './redis-settings.js';
import { RedisWatch } from './redis-watch.js';

/** How the keys of a partition are laid out. A version that changes it refuses what an older one wrote. */
const FORMAT = '1';

/** Read in some milliseconds, so that commits get their turn between two pages. */
const ITEMS_PER_PAGE = 500;

/** UTF-8 never has this byte, so it comes after every key that begins with what stands before it. */
const AFTER_ALL = Buffer.from([0xff]);

/** ZRANGEBYLEX: behind what follows. */
const AFTER = Buffer.from('(');

const SPACE = 0x20;

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
  private readonly replicas: Replicas;
  /** By group of partitions that are read together. */
  private readonly readers: RedisFeedReader[][] = [];
  private partitions: readonly RedisPartition[] = [];
  private commits: RedisCommits | undefined;
  private closed = false;

  constructor(
    private readonly settings: RedisSettings,
    private readonly keyPrefix: string,
  ) {
    assertKeyPrefix(keyPrefix);
    this.nodes = new RedisNodes(settings, keyPrefix);
    this.replicas = new Replicas(settings);
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
      this.commits = this.commitsTo(count);
      this.partitions = Array.from({ length: count }, (_, number) => ({
        number,
        keys: partitionKeys(this.keyPrefix, number),
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
    const { items, head } = this.serving('get', partition).keys;
    if (keys.length === 0) return [];
    const found = await this.nodes.ask(partition, 'get', (redis) =>
      this.replicas.have(redis, head, redis.hmgetBuffer(items, ...keys.map(exactText))),
    );
    return keys.map((key, index) => (found[index] ? itemOf(key, found[index]) : undefined));
  }

  commit(partition: number, writes: readonly Write[]): Promise<CommitOutcome> {
    return this.commitMany([{ partition, writes }])[0]!;
  }

  commitMany(commits: readonly Commit[]): Promise<CommitOutcome>[] {
    const asked: AskedCommit[] = [];
    const outcomes = commits.map(
      ({ partition, writes }) =>
        new Promise<CommitOutcome>((resolve, reject) => {
          const state = this.serving('commit', partition);
          assertCommittable(writes);
          asked.push({ partition: state, writes, resolve, reject });
        }),
    );
    this.commits?.send(asked);
    return outcomes;
  }

  async list(partition: number, prefix = ''): Promise<Listing> {
    const state = this.serving('list', partition);
    const last = await this.nodes.ask(partition, 'list', (redis) =>
      this.replicas.have(redis, state.keys.head, redis.hget(state.keys.head, 'revision')),
    );
    const cursor = Number(last ?? 0);
    state.newest = Math.max(state.newest, cursor);
    return { cursor, pages: this.pages(partition, state.keys, prefix) };
  }

  watch(partition: number, cursor: Cursor, observer: WatchObserver): Unwatch {
    const state = this.serving('watch', partition);
    const watch = new RedisWatch(state, cursor, observer);
    const reader = this.readerFor(state);
    reader.add(watch);
    return () => reader.remove(watch);
  }

  private readerFor({ number, keys }: RedisPartition): RedisFeedReader {
    const readers = (this.readers[this.groupOf(number)] ??= []);
    const free = readers.find((reader) => reader.takes(keys));
    if (free) return free;
    const reader = new RedisFeedReader(this.nodes, number, this.replicas);
    readers.push(reader);
    return reader;
  }

  /** One for all partitions, except in a Cluster, where a reading must keep to one slot. */
  private groupOf(partition: number): number {
    return this.settings.mode === 'cluster' ? partition : 0;
  }

  private commitsTo(partitions: number): RedisCommits {
    const terms = {
      format: FORMAT,
      partitions,
      historyBytes: this.settings.historyBytes(partitions),
      onePartitionPerCall: this.settings.mode === 'cluster',
      wait: this.settings.wait,
      waitTimeoutMs: this.settings.waitTimeoutMs,
    };
    return new RedisCommits(this.nodes, terms, (entry) => this.made(entry));
  }

  private made(entry: OwnEntry): void {
    for (const reader of this.readers[this.groupOf(entry.partition.number)] ?? []) reader.made(entry);
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

  private async *pages(
    partition: number,
    { index, items, head }: PartitionKeys,
    prefix: string,
  ): AsyncIterable<readonly Item[]> {
    const to = prefix === '' ? '+' : Buffer.concat([encodeExact(`(${prefix}`), AFTER_ALL]);
    let from = exactText(`[${prefix}`);
    for (;;) {
      const page = (await this.nodes.ask(partition, 'list', (redis) =>
        this.replicas.have(
          redis,
          head,
          redis.callBuffer('EVAL', PAGE_SCRIPT, 2, index, items, from, to, ITEMS_PER_PAGE),
        ),
      )) as Page;
      if (page.length > 0) yield itemsOf(page);
      if (page.length < 2 * ITEMS_PER_PAGE) return;
      from = Buffer.concat([AFTER, page.at(-2)!]);
    }
  }

  private serving(operation: string, partition: number): RedisPartition {
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
