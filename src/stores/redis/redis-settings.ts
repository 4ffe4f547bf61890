import { badUrl, EngineUrl, type HostAndPort } from '../engine-url.js';
import { type TlsFiles, tlsFilesOf } from '../tls-files.js';

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

/**
 * Each partition is one slot of a Cluster, and there one watching connection of every instance. Sixteen spread over any Cluster
 * that a lock service needs. A single server has nothing to spread: there commits that come together are one entry of one feed.
 */
const DEFAULT_PARTITIONS = { single: 1, sentinel: 1, cluster: 16 } as const;
const MOST_PARTITIONS = 256;

/** Of all partitions: some ten seconds of commits at full speed, which is longer than a watcher needs to come back. */
const DEFAULT_HISTORY_BYTES = 128 * 1024 * 1024;

/** Longer than a failing disk stalls a healthy Redis, well within a session's time to live. */
const DEFAULT_TIMEOUT_MS = 3000;

const DEFAULT_WAIT_TIMEOUT_MS = 1000;

export type RedisMode = 'single' | 'sentinel' | 'cluster';

export interface RedisSettings {
  readonly mode: RedisMode;
  readonly hosts: readonly HostAndPort[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  readonly tls: TlsFiles | undefined;
  /** The name Sentinel knows the primary by, and what to tell Sentinel itself. */
  readonly sentinelName: string;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
  /** Longest any call takes. */
  readonly timeoutMs: number;
  /** Replicas that must have a commit before it counts; 0: none. */
  readonly wait: number;
  readonly waitTimeoutMs: number;
  /** For state that is yet to be created; what exists keeps its own. */
  readonly partitions: number;
  /** Of changes kept in each partition for watchers that resume, by the number of partitions there are. */
  historyBytes(partitions: number): number;
}

/**
 * `redis://[user:password@]host[:port][/db]`, `redis+sentinel://…@h1,h2/NAME[?db=…]`, `redis+cluster://…@h1,h2`; each with
 * `rediss` for TLS. Parameters: `timeout_ms`, `wait`, `wait_timeout_ms`, `partitions`, `history_mb`, `ca`, `cert`, `key`,
 * and for Sentinel `db`, `sentinel_username`, `sentinel_password`.
 */
export function redisSettings(text: string): RedisSettings {
  const mode = modeOf(text);
  const url = new EngineUrl(text, mode === 'sentinel' ? SENTINEL_PORT : REDIS_PORT);
  const settings: RedisSettings = {
    mode,
    hosts: url.hosts,
    username: url.username,
    password: url.password,
    db: databaseOf(url, mode),
    tls: tlsFilesOf(url, text.startsWith('rediss')),
    sentinelName: mode === 'sentinel' ? url.path : '',
    sentinelUsername: mode === 'sentinel' ? url.text('sentinel_username') : undefined,
    sentinelPassword: mode === 'sentinel' ? url.text('sentinel_password') : undefined,
    timeoutMs: url.integer('timeout_ms', DEFAULT_TIMEOUT_MS, 50, 60_000),
    wait: url.integer('wait', 0, 0, 100),
    waitTimeoutMs: url.integer('wait_timeout_ms', DEFAULT_WAIT_TIMEOUT_MS, 1, 60_000),
    partitions: url.integer('partitions', DEFAULT_PARTITIONS[mode], 1, MOST_PARTITIONS),
    historyBytes: historyOf(url),
  };
  url.refuseUnread();
  checkTogether(settings, url);
  return settings;
}

/** The state keeps the number of partitions that it was created with, whatever is the default now. */
function historyOf(url: EngineUrl): RedisSettings['historyBytes'] {
  const megabytes = url.integer('history_mb', 0, 1, 1024);
  return (partitions) =>
    megabytes > 0 ? megabytes * 1024 * 1024 : Math.ceil(DEFAULT_HISTORY_BYTES / partitions);
}

export function isRedisUrl(text: string): boolean {
  return /^rediss?(\+sentinel|\+cluster)?:\/\//.test(text);
}

function modeOf(text: string): RedisMode {
  if (/^rediss?\+sentinel:/.test(text)) return 'sentinel';
  return /^rediss?\+cluster:/.test(text) ? 'cluster' : 'single';
}

function databaseOf(url: EngineUrl, mode: RedisMode): number {
  if (mode === 'sentinel') return url.integer('db', 0, 0, 1_000_000);
  if (!/^\d{0,7}$/.test(url.path)) throw badUrl(`"/${url.path}" is not the number of a database`);
  return Number(url.path);
}

function checkTogether(settings: RedisSettings, url: EngineUrl): void {
  if (settings.mode === 'single' && settings.hosts.length > 1) {
    throw badUrl('several hosts are redis+sentinel://h1,h2/NAME or redis+cluster://h1,h2');
  }
  if (settings.mode === 'sentinel' && url.path === '') {
    throw badUrl('redis+sentinel:// needs the name of the primary after the hosts: /NAME');
  }
  if (settings.mode === 'cluster' && settings.db !== 0) {
    throw badUrl('a Redis Cluster has only database 0');
  }
  if (settings.wait > 0 && settings.waitTimeoutMs >= settings.timeoutMs) {
    throw badUrl(`wait_timeout_ms must be less than timeout_ms (${settings.timeoutMs})`);
  }
}
