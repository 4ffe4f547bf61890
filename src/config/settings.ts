import { MAX_LEASE_MS, TYPE_PATTERN } from '../core/limits.js';
import { type LockPolicy } from '../locking/lock-policy.js';
import { NEEDS_EMBEDDED_STORE } from '../refcount/ref-count-storage.setting.js';
import { isSharedStore, STORE_URL_FORMS, storeUrlProblem } from '../stores/store-url.js';
import { SettingsReader } from './settings-reader.js';

/** Every setting of the design, checked. */
export interface Settings extends LockPolicy {
  readonly port: number;
  readonly host: string;
  readonly storeUrl: string;
  readonly keyPrefix: string;
  readonly refcountStorage: string;
  readonly sessionTtlMs: number;
  readonly bindGraceMs: number;
  readonly maxWaitMs: number;
  readonly sseHeartbeatMs: number;
  readonly logLevel: LogLevel;
}

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const REFCOUNT_STORAGE_PATTERN = /^(store|memory:|file:.+)$/s;

/** Each lane is a list of its own in a key's record, which must stay under the size an engine takes. */
const MAX_LANES = 16;

/** A day: longer times are mistakes of a unit. */
const DAY_MS = 86_400_000;

/**
 * Reads the environment. Every default has its reason in `config/example.env`. Throws a `SettingsError` that names each
 * variable that is wrong and what it may be.
 */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const read = new SettingsReader(environment);
  const settings: Settings = {
    port: read.integer('PORT', 8086, 0, 65_535),
    host: read.text('HOST', '127.0.0.1', /^\S+$/, 'an address to listen on'),
    storeUrl: read.text('STORE_URL', 'file:./data', /./s, STORE_URL_FORMS),
    keyPrefix: read.text('KEY_PREFIX', 'holdfast/', /^[!-~]{1,64}$/, '1 to 64 printable ASCII characters'),
    allowMultiNodeDownload: read.flag('ALLOW_MULTI_NODE_DOWNLOAD', true),
    shardCount: read.integer('SHARD_COUNT', 32, 1, 4096),
    refcountMode: read.choice('REFCOUNT_MODE', 'server', ['server', 'client']),
    refcountStorage: read.text(
      'REFCOUNT_STORAGE',
      'store',
      REFCOUNT_STORAGE_PATTERN,
      'store, memory: or file:PATH',
    ),
    updateRequiresNoRef: read.flag('UPDATE_REQUIRES_NO_REF', false),
    lockIsolation: read.choice('LOCK_ISOLATION', 'operation', ['operation', 'resource']),
    successPolicy: read.choice('SUCCESS_POLICY', 'dismiss', ['dismiss', 'handover']),
    lanes: read.names('LANES', TYPE_PATTERN, MAX_LANES),
    completionTtlMs: read.integer('COMPLETION_TTL_MS', 300_000, 1, DAY_MS),
    completedSkipMs: read.integer('COMPLETED_SKIP_MS', 0, 0, DAY_MS),
    defaultLeaseMs: read.integer('DEFAULT_LEASE_MS', 3_600_000, 0, MAX_LEASE_MS),
    claimTimeoutMs: read.integer('CLAIM_TIMEOUT_MS', 10_000, 0, DAY_MS),
    waiterTtlMs: read.integer('WAITER_TTL_MS', 600_000, 0, DAY_MS),
    sessionTtlMs: read.integer('SESSION_TTL_MS', 10_000, 100, DAY_MS),
    bindGraceMs: read.integer('BIND_GRACE_MS', 5_000, 0, DAY_MS),
    maxQueueLength: read.integer('MAX_QUEUE_LENGTH', 10_000, 1, 1_000_000),
    maxWaitMs: read.integer('MAX_WAIT_MS', 600_000, 1, DAY_MS),
    sseHeartbeatMs: read.integer('SSE_HEARTBEAT_MS', 15_000, 100, DAY_MS),
    logLevel: read.choice('LOG_LEVEL', 'info', LOG_LEVELS),
  };
  checkTogether(settings, read);
  read.finish();
  return settings;
}

/** What each variable alone cannot show. */
function checkTogether(settings: Settings, read: SettingsReader): void {
  const problem = storeUrlProblem(settings.storeUrl, settings.keyPrefix);
  if (problem !== undefined) read.wrong('STORE_URL', problem);
  if (settings.refcountStorage !== 'store' && isSharedStore(settings.storeUrl)) {
    read.wrong('REFCOUNT_STORAGE', NEEDS_EMBEDDED_STORE);
  }
  if (settings.completedSkipMs > settings.completionTtlMs) {
    read.wrong(
      'COMPLETED_SKIP_MS',
      `may not exceed COMPLETION_TTL_MS (${settings.completionTtlMs}): outcomes are forgotten by then`,
    );
  }
  if (settings.refcountStorage !== 'store' && settings.refcountMode === 'client') {
    read.wrong(
      'REFCOUNT_STORAGE',
      'makes no sense with REFCOUNT_MODE=client: the server then counts nothing',
    );
  }
}
