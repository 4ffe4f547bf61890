import { type RedisOptions } from 'ioredis';
import { type HostAndPort } from '../engine-url.js';
import { readTlsFiles } from '../tls-files.js';
import { type RedisSettings } from './redis-settings.js';

/** Back soon after a blip, and no burden for an engine that starts. */
const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 1000;

/**
 * Nobody waits for an answer on a connection that is closed here. ioredis waits for so long also where there never was one, and
 * keeps the process that could not start alive.
 */
const DISCONNECT_MS = 50;

/**
 * How every connection is made. Nothing is ever sent twice: a commit sent again would conflict with itself and be
 * reported as refused although it was applied. What cannot be sent at once is refused, what was sent and not
 * answered fails when the connection does.
 */
export function redisOptions(settings: RedisSettings): RedisOptions {
  const { timeoutMs } = settings;
  return {
    lazyConnect: true,
    protocol: 2,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LONGEST_RETRY_MS),
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    socketTimeout: 2 * timeoutMs,
    keepAlive: timeoutMs,
    disconnectTimeout: DISCONNECT_MS,
    db: settings.db,
    ...credentials(settings),
    ...tls(settings),
  };
}

/** For the one server of `redis://`, a node of a Cluster, or whichever Sentinel says is the primary. */
export function addressOptions(settings: RedisSettings, node: HostAndPort): RedisOptions {
  if (settings.mode !== 'sentinel') return { host: node.host, port: node.port };
  return {
    sentinels: [...settings.hosts],
    name: settings.sentinelName,
    failoverDetector: true,
    enableTLSForSentinelMode: settings.tls !== undefined,
    ...(settings.sentinelUsername !== undefined && { sentinelUsername: settings.sentinelUsername }),
    ...(settings.sentinelPassword !== undefined && { sentinelPassword: settings.sentinelPassword }),
  };
}

function credentials({ username, password }: RedisSettings): RedisOptions {
  return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
}

function tls(settings: RedisSettings): RedisOptions {
  if (!settings.tls) return {};
  const { ca, cert, key } = readTlsFiles(settings.tls);
  const options = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  return settings.mode === 'sentinel' ? { tls: options, sentinelTLS: options } : { tls: options };
}
