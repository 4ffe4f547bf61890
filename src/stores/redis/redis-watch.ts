import { setTimeout as delay } from 'node:timers/promises';
import { decodeExact } from '../exact-utf8.js';
import { Silence } from '../silence.js';
import { type Change, type Cursor, type WatchObserver } from '../state-store.interface.js';
import { RedisConnection } from './redis-connection.js';
import { type PartitionKeys } from './redis-keys.js';
import { type RedisNodes } from './redis-nodes.js';

/** One answer an idle watch waits for: also how soon a dead connection is suspected. */
const BLOCK_MS = 1000;

/** An entry may be a full queue's dismissal of some megabytes; a page of them must stay bearable. */
const ENTRIES_PER_READ = 100;

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 1000;

const PUT = '+'.charCodeAt(0);

type Entry = [id: Buffer, fields: Buffer[]];
type Feeds = [name: Buffer, entries: Entry[]][] | null;

/**
 * Follows the feed of one partition on a connection of its own, and goes on behind the last commit shown whenever the
 * connection broke. Each entry names the revision before it. One that does not continue what was shown means that entries were cut
 * off, or that the engine lost some that were shown: both are `compacted`.
 */
export class RedisWatch {
  private over = false;
  private readonly silence: Silence;
  private retryMs = FIRST_RETRY_MS;
  private connection: RedisConnection | undefined;

  constructor(
    private readonly nodes: RedisNodes,
    private readonly partition: number,
    private readonly keys: PartitionKeys,
    private cursor: Cursor,
    private readonly observer: WatchObserver,
  ) {
    this.silence = new Silence(observer);
  }

  stop(): void {
    this.over = true;
    this.connection?.close();
  }

  async run(): Promise<void> {
    while (!this.over) {
      try {
        this.connection = this.nodes.watchConnection(this.partition, BLOCK_MS);
        await this.connection.connect();
        await this.follow(this.connection);
      } catch {
        if (!this.over) this.silence.begin();
        await delay(this.retryMs, undefined, { ref: false });
        this.retryMs = Math.min(this.retryMs * 2, LONGEST_RETRY_MS);
        await this.nodes.locate().catch(() => undefined);
      } finally {
        this.connection?.close();
      }
    }
  }

  private async follow(connection: RedisConnection): Promise<void> {
    const last = await connection.ask('watch', (redis) => redis.hget(this.keys.head, 'revision'));
    if (Number(last ?? 0) < this.cursor) this.compacted();
    while (!this.over) {
      const feeds = (await connection.ask('watch', (redis) =>
        redis.xreadBuffer(
          'COUNT',
          ENTRIES_PER_READ,
          'BLOCK',
          BLOCK_MS,
          'STREAMS',
          this.keys.feed,
          `${this.cursor}-0`,
        ),
      )) as Feeds;
      this.retryMs = FIRST_RETRY_MS;
      const entries = feeds?.[0]?.[1] ?? [];
      this.show(entries);
      if (!this.over && entries.length < ENTRIES_PER_READ) this.silence.end();
    }
  }

  private show(entries: readonly Entry[]): void {
    for (const [id, [, previous, ...writes]] of entries) {
      if (this.over) return;
      if (Number(previous!.toString('latin1')) !== this.cursor) return this.compacted();
      this.cursor = Number.parseInt(id.toString('latin1'), 10);
      this.observer.committed(changesOf(this.cursor, writes));
    }
  }

  private compacted(): void {
    this.stop();
    this.observer.compacted();
  }
}

/** Pairs of key and `+<value>` or `-`. */
function changesOf(revision: number, writes: readonly Buffer[]): Change[] {
  const changes: Change[] = [];
  for (let at = 0; at < writes.length; at += 2) {
    const key = writes[at]!;
    const change = writes[at + 1]!;
    const value = change[0] === PUT ? decodeExact(change, 1, change.length) : undefined;
    changes.push({ key: decodeExact(key, 0, key.length), revision, value });
  }
  return changes;
}
