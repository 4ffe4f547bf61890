import { MAX_KEY_BYTES, MAX_VALUE_BYTES, type Text, type Write } from './state-store.interface.js';
import { StoreError } from './store.error.js';

/** One UTF-16 unit never takes more than three bytes of UTF-8, so short strings need no counting. */
const MOST_BYTES_PER_UNIT = 3;

/**
 * Throws `STORE_LIMIT` for a commit that some engine could not take: a key or value over the port's limits, no
 * write at all (it would have no revision), or two writes to one key (which would win?). Called before anything
 * is written.
 */
export function assertCommittable(writes: readonly Write[]): void {
  if (writes.length !== 1) assertDistinctKeys(writes);
  for (const write of writes) {
    if (exceeds(write.key, MAX_KEY_BYTES)) throw tooLong('key', write.key, MAX_KEY_BYTES, write.key);
    if ('put' in write && exceeds(write.put, MAX_VALUE_BYTES)) {
      throw tooLong('value', write.put, MAX_VALUE_BYTES, write.key);
    }
  }
}

function assertDistinctKeys(writes: readonly Write[]): void {
  if (writes.length === 0) throw defect('A commit needs at least one write.');
  const keys = new Set(writes.map((write) => write.key));
  if (keys.size < writes.length) throw defect('A commit may write each key only once.');
}

function exceeds(text: Text, maxBytes: number): boolean {
  return text.length * MOST_BYTES_PER_UNIT > maxBytes && bytesOf(text) > maxBytes;
}

function bytesOf(text: Text): number {
  return Buffer.byteLength(text.toString());
}

function tooLong(what: 'key' | 'value', text: Text, maxBytes: number, key: string): StoreError {
  const name = JSON.stringify(key.length > 80 ? `${key.slice(0, 80)}…` : key);
  return defect(`The ${what} of ${name} takes ${bytesOf(text)} bytes; a ${what} may take ${maxBytes}.`);
}

function defect(message: string): StoreError {
  return new StoreError('STORE_LIMIT', 'commit', `${message} Nothing was written.`);
}
