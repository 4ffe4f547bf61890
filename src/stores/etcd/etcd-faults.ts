import { StoreError } from '../store.error.js';

/** gRPC codes with which etcd says that it did nothing: the others leave open what became of a write. */
const REFUSED = new Set([3, 5, 6, 7, 8, 9, 11, 12, 16]);

/** grpc-js had no connection to send on. */
const NEVER_SENT =
  /No connection established|Channel closed before call started|Waiting for LB pick|Name resolution failed/;

const OVER_A_LIMIT = /too many operations in txn|request is too large|received message larger than max/;

/** etcd3 keeps gRPC's code only at the beginning of the message: `14 UNAVAILABLE: …`. */
function codeOf(error: Error): number {
  return Number(/^(\d+) [A-Z_]+:/.exec(error.message)?.[1] ?? NaN);
}

/** Nothing was written, and nothing will be. */
export function wroteNothing(error: Error): boolean {
  return wasNeverSent(error) || REFUSED.has(codeOf(error));
}

export function wasNeverSent(error: Error): boolean {
  return NEVER_SENT.test(error.message);
}

/** Another member may do better. */
export function isTroubleOfHost(error: Error): boolean {
  return !REFUSED.has(codeOf(error));
}

export function etcdError(operation: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const message = (error as Error).message.replace(/ Resolution note: $/, '');
  if (!OVER_A_LIMIT.test(message)) {
    const verb = operation === 'open' ? 'be opened' : operation;
    return new StoreError('STORE_UNAVAILABLE', operation, `etcd cannot ${verb} now: ${message}`, error);
  }
  return new StoreError(
    'STORE_LIMIT',
    operation,
    `etcd refused a commit that is too large for it (${message}); nothing was written. Start etcd with ` +
      '--max-txn-ops=1024 --max-request-bytes=8388608, or set MAX_QUEUE_LENGTH lower (docs/engines.md).',
    error,
  );
}
