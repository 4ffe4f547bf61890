import { open, type RootDatabase } from 'lmdb';
import { decodeExact, encodeExact, writeExact } from '../exact-utf8.js';

/** The record beside the items: its version is the owner's nonce, its value what `OwnerRecord` says. */
export const OWNER_RECORD = Symbol('owner record');

export type Environment = RootDatabase<string, string | typeof OWNER_RECORD>;

/** First byte of a key on disk: keeps our own record apart from the items, whatever their keys. */
const OWNER_TAG = 0;
const ITEM_TAG = 1;

/**
 * Address space reserved for the map, neither memory nor disk. Holds a million items; LMDB moves to a larger
 * map by itself beyond it. Not "as large as possible", because a process under `ulimit -v` that cannot map
 * it does not get an error but a segmentation fault.
 */
const MAP_BYTES = 2 ** 30;

const keyEncoder = {
  writeKey(key: string | typeof OWNER_RECORD, target: Buffer, start: number): number {
    target[start] = key === OWNER_RECORD ? OWNER_TAG : ITEM_TAG;
    return key === OWNER_RECORD ? start + 1 : writeExact(key, target, start + 1);
  },
  readKey(source: Buffer, start: number, end: number): string {
    return decodeExact(source, start + 1, end);
  },
};

const encoder = {
  encode: encodeExact,
  decode: (bytes: Buffer): string => decodeExact(bytes, 0, bytes.length),
};

/** Opens LMDB as this store needs it. The directory must have passed its checks: LMDB crashes on a bad one. */
export function openEnvironment(directory: string): Environment {
  return open(directory, {
    encoder,
    keyEncoder,
    mapSize: MAP_BYTES,
    /** An entry's version is its item's revision. */
    useVersions: true,
    /** Visible only once on disk; and its flush failures are lost: `flushed` would wait for ever. */
    overlappingSync: false,
    /** We group ourselves, and a failure of lmdb's own batch rejects a promise nobody holds: a crash. */
    eventTurnBatching: false,
    /** Else a directory with a dot in its name is taken for a file. */
    noSubdir: false,
  });
}
