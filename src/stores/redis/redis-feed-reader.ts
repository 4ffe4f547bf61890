import { setTimeout as delay } from 'node:timers/promises';
import { type OwnEntry } from './partition-commits.js';
import { ReaderRest } from './reader-rest.js';
import { type RedisConnection } from './redis-connection.js';
import { type PartitionKeys } from './redis-keys.js';
import { type RedisNodes } from './redis-nodes.js';
import { type Replicas } from './redis-replicas.js';
import { type FeedEntry, type RedisWatch } from './redis-watch.js';

/** One answer an idle reader waits for: also how soon a dead connection is suspected. */
const BLOCK_MS = 1000;

/** Of each feed. An entry may be a full queue's dismissal of some megabytes; an answer with them must stay bearable. */
const ENTRIES_PER_READ = 100;

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 1000;

type Feeds = [name: Buffer, entries: FeedEntry[]][] | null;

/**
 * Reads the feeds of partitions that one primary serves, all on one connection, for as long as anybody watches: what is committed
 * in one turn arrives in one answer. Goes on behind the last commit shown whenever the connection broke. What this process commits itself
 * is shown when it is answered, and while nobody else commits, it is not read: all of it would come back.
 */
export class RedisFeedReader {
  private readonly watches = new Set<RedisWatch>();
  private readonly rest = new ReaderRest();
  private connection: RedisConnection | undefined;
  private running = false;
  /** An answer for the watches there were is awaited. */
  private following = false;
  /** Another one must not wait with them. */
  private restarting = false;
  private retryMs = FIRST_RETRY_MS;

  /** `partition`: any of those it reads. */
  constructor(
    private readonly nodes: RedisNodes,
    private readonly partition: number,
    private readonly replicas: Replicas,
  ) {}

  /** An answer names feeds, not watches: of each at most one. */
  takes({ feed }: PartitionKeys): boolean {
    return !Array.from(this.watches).some(({ keys }) => keys.feed === feed);
  }

  add(watch: RedisWatch): void {
    this.watches.add(watch);
    if (!this.running) return void this.run();
    if (!this.following) return;
    this.restarting = true;
    this.connection?.close();
    this.rest.stop();
  }

  remove(watch: RedisWatch): void {
    watch.over = true;
    this.watches.delete(watch);
    if (this.watches.size > 0) return;
    this.connection?.close();
    this.rest.stop();
  }

  /** Commits of this process were answered. */
  made(entry: OwnEntry): void {
    for (const watch of this.watches) {
      if (watch.keys !== entry.partition.keys) continue;
      if (watch.made(entry)) this.rest.earn();
      else this.rest.stop();
    }
  }

  stop(): void {
    for (const watch of this.watches) this.remove(watch);
  }

  private async run(): Promise<void> {
    this.running = true;
    while (this.watches.size > 0) {
      this.following = false;
      this.restarting = false;
      try {
        this.connection = this.nodes.watchConnection(this.partition, BLOCK_MS);
        await this.connection.connect();
        await this.follow(this.connection);
      } catch (error) {
        this.following = false;
        if (!this.restarting) await this.interrupted(error);
      } finally {
        this.connection?.close();
      }
    }
    this.running = false;
  }

  private async interrupted(cause: unknown): Promise<void> {
    for (const watch of this.watches) watch.interrupted(cause);
    if (this.watches.size === 0) return;
    await delay(this.retryMs, undefined, { ref: false });
    this.retryMs = Math.min(this.retryMs * 2, LONGEST_RETRY_MS);
    await this.nodes.locate().catch(() => undefined);
  }

  private async follow(connection: RedisConnection): Promise<void> {
    this.following = true;
    const watches = [...this.watches];
    const before = watches.map(({ shown }) => shown);
    const revisions = await Promise.all(
      watches.map(({ keys }) => connection.ask('watch', (redis) => redis.hget(keys.head, 'revision'))),
    );
    for (const [index, watch] of watches.entries()) {
      watch.connected(Number(revisions[index] ?? 0), before[index]!);
    }
    while (this.goesOn(watches)) {
      await this.read(connection);
      // The answers to commits to one partition say nothing of what others write to another.
      if (this.goesOn(watches) && this.watches.size === 1) await this.rest.take();
    }
  }

  private goesOn(watches: readonly RedisWatch[]): boolean {
    for (const watch of watches) if (watch.over) this.watches.delete(watch);
    return this.watches.size > 0 && !this.restarting;
  }

  /** An answer has only the feeds that have something new; of those that are not in it, everything has been shown. */
  private async read(connection: RedisConnection): Promise<void> {
    const watches = [...this.watches];
    const streams = [...watches.map(({ keys }) => keys.feed), ...watches.map(({ lastId }) => lastId)];
    const feeds = (await connection.ask('watch', (redis) =>
      redis.xreadBuffer('COUNT', ENTRIES_PER_READ, 'BLOCK', BLOCK_MS, 'STREAMS', ...streams),
    )) as Feeds;
    // What no replica has is not shown: on the strength of it waiters are told that the lock is theirs, or that the work is done.
    if (feeds)
      await connection.ask('watch', (redis) =>
        this.replicas.have(redis, watches[0]!.keys.head, Promise.resolve()),
      );
    this.retryMs = FIRST_RETRY_MS;
    const entries = new Map(feeds?.map(([name, added]) => [name.toString(), added]));
    for (const watch of watches) {
      const added = entries.get(watch.keys.feed) ?? [];
      watch.show(added);
      if (added.length < ENTRIES_PER_READ) watch.caughtUp();
    }
  }
}
