import { type Clock, SystemClock } from './clock.js';

export interface LockClientOptions {
  readonly serverUrl?: string;
  /** Several instances over one store: when one fails, the next is asked. Given these, `serverUrl` is not looked at. */
  readonly serverUrls?: readonly string[];
  /** Who asks. */
  readonly nodeId: string;
  /** After a network error, a timeout, 429 or 5xx. Default: 3. */
  readonly maxRetries?: number;
  /** Before the first retry; each later one waits twice as long, all with jitter. Default: 1000. */
  readonly retryIntervalMs?: number;
  /** For each try of a short request. Default: 30 000. */
  readonly requestTimeoutMs?: number;
  /** How long the server waits for a sign of life of this client. Default: the server's `SESSION_TTL_MS`. */
  readonly sessionTtlMs?: number;
  /** How long work needs to stop: `hold.signal` aborts this much earlier than it would have to. Default: 0. */
  readonly stopWithinMs?: number;
  /**
   * `SSE_HEARTBEAT_MS` of a server that does not tell it in its snapshots, as those of earlier versions: a stream that is silent for
   * 2.5 times as long is given up. Default: 15 000.
   */
  readonly serverHeartbeatMs?: number;
  /** For tests. */
  readonly clock?: Clock;
}

export interface Settings {
  readonly serverUrls: readonly URL[];
  readonly nodeId: string;
  readonly maxRetries: number;
  readonly retryIntervalMs: number;
  readonly requestTimeoutMs: number;
  readonly sessionTtlMs: number | undefined;
  readonly stopWithinMs: number;
  readonly serverHeartbeatMs: number;
  readonly clock: Clock;
}

/** Throws a `TypeError` that says what is wrong. */
export function settingsOf(options: LockClientOptions): Settings {
  if (typeof options !== 'object' || options === null) throw new TypeError('LockClient needs options.');
  const { serverUrl, serverUrls = serverUrl === undefined ? [] : [serverUrl], nodeId } = options;
  if (!Array.isArray(serverUrls)) throw new TypeError('serverUrls must be a list of URLs.');
  if (serverUrls.length === 0) throw new TypeError('LockClient needs a serverUrl or serverUrls.');
  if (typeof nodeId !== 'string' || nodeId === '') throw new TypeError('LockClient needs a nodeId.');
  return {
    serverUrls: serverUrls.map(serverUrlOf),
    nodeId,
    maxRetries: atLeast(0, 'maxRetries', options.maxRetries ?? 3),
    retryIntervalMs: atLeast(0, 'retryIntervalMs', options.retryIntervalMs ?? 1000),
    requestTimeoutMs: atLeast(1, 'requestTimeoutMs', options.requestTimeoutMs ?? 30_000),
    sessionTtlMs:
      options.sessionTtlMs === undefined ? undefined : atLeast(1, 'sessionTtlMs', options.sessionTtlMs),
    stopWithinMs: atLeast(0, 'stopWithinMs', options.stopWithinMs ?? 0),
    serverHeartbeatMs: atLeast(1, 'serverHeartbeatMs', options.serverHeartbeatMs ?? 15_000),
    clock: options.clock ?? new SystemClock(),
  };
}

/** Throws a `TypeError` that says what is wrong, and shows nothing of what may be a password. */
export function serverUrlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new TypeError(`Not the URL of a server: ${withoutUser(text)}`);
  if (url.username === '' && url.password === '') return url;
  throw new TypeError(
    `The URL of a server must be without user and password, which are not sent: ${withoutUser(text)}`,
  );
}

/** Also of what is no URL. */
function withoutUser(text: unknown): string {
  return String(text).replace(/^.*@/s, '…@');
}

function atLeast(minimum: number, name: string, value: number): number {
  if (Number.isFinite(value) && value >= minimum) return value;
  throw new TypeError(`${name} must be a number of at least ${minimum}.`);
}
