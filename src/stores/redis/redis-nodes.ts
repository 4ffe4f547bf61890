import { type Redis, type RedisOptions } from 'ioredis';
import { type HostAndPort } from '../engine-url.js';
import { StoreError } from '../store.error.js';
import { clusterPrimaries } from './cluster-map.js';
import { RedisConnection } from './redis-connection.js';
import { isMoved, unavailable } from './redis-faults.js';
import { partitionKeys } from './redis-keys.js';
import { addressOptions, redisOptions } from './redis-options.js';
import { type RedisSettings } from './redis-settings.js';

/**
 * Which primary serves which partition, and the connections to them: one for all partitions, except in a Cluster, whose
 * map is read again whenever a node says that a partition moved or cannot be reached.
 */
export class RedisNodes {
  private readonly connections = new Map<string, RedisConnection>();
  private addresses: readonly HostAndPort[] = [];
  private locating: Promise<void> | undefined;
  private partitionCount = 1;
  private closed = false;

  constructor(
    private readonly settings: RedisSettings,
    private readonly keyPrefix: string,
  ) {}

  async open(partitionCount: number): Promise<void> {
    this.partitionCount = partitionCount;
    await this.locate();
  }

  close(): void {
    this.closed = true;
    for (const connection of this.connections.values()) connection.close();
    this.connections.clear();
  }

  /** Not necessarily ready: whoever uses it is told. */
  connectionOf(partition: number): RedisConnection {
    const connection = this.connections.get(nameOf(this.addressOf(partition)));
    if (!connection) throw unavailable('find', 'Redis is not connected.');
    if (!connection.isReady) this.locate().catch(() => undefined);
    return connection;
  }

  addressOf(partition: number): HostAndPort {
    return this.addresses[partition % this.addresses.length] ?? this.settings.hosts[0]!;
  }

  /** For a watch, whose reads may block this long: not yet connected, and not made again when it breaks. */
  watchConnection(partition: number, blockMs: number): RedisConnection {
    const { timeoutMs } = this.settings;
    const options: RedisOptions = {
      ...redisOptions(this.settings),
      ...addressOptions(this.settings, this.addressOf(partition)),
      retryStrategy: null,
      commandTimeout: blockMs + timeoutMs,
      socketTimeout: blockMs + timeoutMs,
    };
    return new RedisConnection(options, timeoutMs);
  }

  /** Asks the partition's primary; if it moved, its new one. */
  async ask<T>(partition: number, operation: string, question: (redis: Redis) => Promise<T>): Promise<T> {
    try {
      return await this.connectionOf(partition).ask(operation, question);
    } catch (error) {
      if (!(error instanceof StoreError && error.cause instanceof Error && isMoved(error.cause))) throw error;
      await this.locate();
      return this.connectionOf(partition).ask(operation, question);
    }
  }

  /** Reads the map of a Cluster again; concurrent calls share one reading. */
  locate(): Promise<void> {
    this.locating ??= this.readMap().finally(() => (this.locating = undefined));
    return this.locating;
  }

  private async readMap(): Promise<void> {
    if (this.settings.mode !== 'cluster') return this.connect(this.settings.hosts[0]!);
    const tags = Array.from({ length: this.partitionCount }, (_, n) => partitionKeys(this.keyPrefix, n).head);
    let trouble: unknown;
    for (const node of [...this.addresses, ...this.settings.hosts]) {
      try {
        await this.connect(node);
        const primaries = await clusterPrimaries(this.connections.get(nameOf(node))!, node, tags);
        for (const primary of primaries) await this.connect(primary);
        this.addresses = primaries;
        return this.dropUnused();
      } catch (error) {
        trouble = error;
      }
    }
    throw trouble;
  }

  private async connect(node: HostAndPort): Promise<void> {
    if (this.connections.has(nameOf(node))) return;
    const options = { ...redisOptions(this.settings), ...addressOptions(this.settings, node) };
    const connection = new RedisConnection(options, this.settings.timeoutMs);
    try {
      await connection.connect();
      if (this.closed) throw unavailable('open', 'The Redis store is closed.');
    } catch (error) {
      connection.close();
      throw error;
    }
    this.connections.set(nameOf(node), connection);
  }

  private dropUnused(): void {
    const used = new Set(this.addresses.map(nameOf));
    for (const [name, connection] of this.connections) {
      if (used.has(name)) continue;
      connection.close();
      this.connections.delete(name);
    }
  }
}

function nameOf({ host, port }: HostAndPort): string {
  return `${host}:${port}`;
}
