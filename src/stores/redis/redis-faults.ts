import { StoreError } from '../store.error.js';

/** An answer of the engine: it heard the command and did nothing. Everything else says nothing of what it did. */
export function isRefusal(error: Error): boolean {
  return error.name === 'ReplyError';
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
  const reason = error.name === 'MaxRetriesPerRequestError' ? 'the connection was lost' : error.message;
  return unavailable(
    operation,
    `Redis cannot ${operation === 'open' ? 'be opened' : operation} now: ${reason}`,
    error,
  );
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
