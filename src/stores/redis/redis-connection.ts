import { setTimeout as delay } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import { isAboutDatabase, reasonOf, redisError, unavailable, wasNeverSent } from './redis-faults.js';

/** A connection to one primary, made again by itself when it breaks. Every call is bounded by the options' timeout. */
export class RedisConnection {
  private readonly redis: Redis;
  private trouble: Error | undefined;
  /** It has been connected, and is so no more unless it is ready. */
  private hasBeenReady = false;
  /** The database was refused: ioredis would go on in number 0, with somebody else's state. */
  private isElsewhere = false;

  constructor(
    private readonly options: RedisOptions,
    private readonly timeoutMs: number,
  ) {
    this.redis = new Redis({ ...options, replyMapping: 'legacy' });
    this.redis.on('connect', () => (this.isElsewhere = false));
    this.redis.on('error', (error: Error) => {
      this.isElsewhere ||= isAboutDatabase(error);
      this.trouble = error;
    });
    this.redis.on('ready', () => {
      if (this.isElsewhere) return this.redis.disconnect(true);
      this.trouble = undefined;
      this.hasBeenReady = true;
    });
  }

  get isReady(): boolean {
    return this.redis.status === 'ready' && !this.isElsewhere;
  }

  /** Rejects if there is no connection within the time; it is tried further until `close`. */
  async connect(): Promise<void> {
    const patience = new AbortController();
    const late = delay(this.timeoutMs, undefined, { signal: patience.signal, ref: false });
    late.catch(() => undefined);
    try {
      await Promise.race([this.redis.connect(), late]);
    } catch (error) {
      throw redisError('open', this.trouble ?? (error as Error));
    } finally {
      patience.abort();
    }
    if (!this.isReady) throw unavailable('open', this.description(), this.trouble);
  }

  /** For a commit, whose fate must stay known: rejects unless it can be sent at once. */
  ready(operation: string): Redis {
    if (!this.isReady) throw unavailable(operation, this.description(), this.trouble);
    return this.redis;
  }

  /** For what changes nothing: any failure is an error. */
  async ask<T>(operation: string, question: (redis: Redis) => Promise<T>): Promise<T> {
    try {
      return await question(this.ready(operation));
    } catch (error) {
      throw error instanceof Error && error.name !== 'StoreError' ? this.wrapped(operation, error) : error;
    }
  }

  close(): void {
    this.redis.disconnect();
  }

  private wrapped(operation: string, error: Error): Error {
    return wasNeverSent(error)
      ? unavailable(operation, this.description(), error)
      : redisError(operation, error);
  }

  private description(): string {
    if (this.trouble && isAboutDatabase(this.trouble))
      return `Redis refuses database ${this.options.db}: ${this.trouble.message}.`;
    if (this.trouble) return `Redis is not connected: ${reasonOf(this.trouble).replace(/\.$/, '')}.`;
    if (this.hasBeenReady) return 'Redis is not connected.';
    const tls = this.options.tls ? ' rediss:// needs a port that speaks TLS: does this one?' : '';
    return `Redis has not answered within ${this.timeoutMs} ms.${tls}`;
  }
}
