import { StoreError } from '../store.error.js';

/** XTRIM MINID and EVAL by effects need it. */
const OLDEST_VERSION = [6, 2] as const;

/** Throws unless the server that gave this `INFO` can be trusted with the state. */
export function assertUsableServer(info: string): void {
  const version = fieldOf(info, 'redis_version') ?? '';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < OLDEST_VERSION[0] || (major === OLDEST_VERSION[0] && minor < OLDEST_VERSION[1])) {
    throw refusal(`Redis is version ${version}; Holdfast needs ${OLDEST_VERSION.join('.')} or Valkey.`);
  }
  const policy = fieldOf(info, 'maxmemory_policy');
  if (policy?.startsWith('allkeys')) {
    throw refusal(
      `Redis evicts keys when its memory is full (maxmemory-policy ${policy}): locks would vanish. Set noeviction.`,
    );
  }
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim();
}

function refusal(message: string): StoreError {
  return new StoreError('STORE_UNREADABLE', 'open', message);
}
