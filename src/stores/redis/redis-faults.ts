import { StoreError } from '../store.error.js';

/** An answer of the engine: it heard the command and did nothing. Everything else says nothing of what it did. */
export function isRefusal(error: Error): boolean {
  return error.name === 'ReplyError';
}

/** The answer to a SELECT. */
export function isAboutDatabase(error: Error & { command?: { name: string } }): boolean {
  return isRefusal(error) && error.command?.name === 'select';
}

/** ioredis had no connection to write to. */
export function wasNeverSent(error: Error): boolean {
  return error.message.startsWith("Stream isn't writeable");
}

/** The partition is served by another node of the Cluster now. Nothing was done. */
export function isMoved(error: Error): boolean {
  return isRefusal(error) && error.message.startsWith('MOVED ');
}

/** The server does not know the script by its hash (it restarted, or forgot). Nothing was done. */
export function isUnknownScript(error: Error): boolean {
  return isRefusal(error) && error.message.startsWith('NOSCRIPT ');
}

export function redisError(operation: string, error: Error): StoreError {
  const format = /^HOLDFASTFORMAT (\S+) (\S+)/.exec(error.message);
  if (format) return otherFormat(operation, format[1]!, format[2]!);
  return unavailable(
    operation,
    `Redis cannot ${operation === 'open' ? 'be opened' : operation} now: ${reasonOf(error)}`,
    error,
  );
}

/** What ioredis says when no Sentinel helps; what was wrong with the last one is in it. */
const NO_SENTINEL = /^All sentinels are unreachable.*?\.(?: Retrying.*?ms\.)?(?: Last error: (.*))?$/;

/** For people: ioredis speaks of what it will do next, which is not what they are told it for. */
export function reasonOf({ name, message }: Error): string {
  if (name === 'MaxRetriesPerRequestError') return 'the connection was lost';
  if (wasNeverSent({ name, message })) return 'the connection was closed: is it Redis that listens there?';
  const sentinels = NO_SENTINEL.exec(message);
  if (!sentinels) return message;
  const [, last] = sentinels;
  if (last === 'Connection is closed.') return 'no Sentinel can be reached';
  return `no Sentinel says where the primary is${last === undefined ? '' : `: ${last}`}`;
}

export function unavailable(operation: string, message: string, cause?: unknown): StoreError {
  return new StoreError('STORE_UNAVAILABLE', operation, message, cause);
}

export function otherFormat(operation: string, format: string, partitions: string): StoreError {
  return new StoreError(
    'STORE_UNREADABLE',
    operation,
    `The state in Redis has format ${format} and ${partitions} partitions, which is not what this process serves. ` +
      'Nothing was changed. Run the version that wrote it, or choose another KEY_PREFIX.',
  );
}
