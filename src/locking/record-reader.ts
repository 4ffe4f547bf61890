import { type Item, type StateStore } from '../stores/state-store.interface.js';
import { StoreError } from '../stores/store.error.js';
import { decodeHead, NO_RECORD, type StoredRecord } from './records/record.js';
import { headKey, partKey } from './records/item-keys.js';

export interface ReadRecord {
  readonly record: StoredRecord;
  /** Of the commit that wrote the record. */
  readonly commitId: string | undefined;
}

/** A record keeps changing while it is read only if it is written thousands of times a second. */
const MAX_TRIES = 20;

/** Linearizable: the record as it is now, with all of its parts from one moment. */
export async function readRecord(
  store: StateStore,
  partition: number,
  resourceId: string,
): Promise<ReadRecord> {
  const key = headKey(resourceId);
  let names: readonly string[] = [];
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const items = await store.get(partition, [key, ...names.map((name) => partKey(resourceId, name))]);
    const head = items[0];
    if (!head) return { record: NO_RECORD, commitId: undefined };
    const decoded = decodeHead(resourceId, head.value, head.revision);
    const parts = new Map(names.map((name, i) => [name, items[i + 1]]));
    const complete = Array.from(decoded.parts).every(
      ([name, revision]) => parts.get(name)?.revision === revision,
    );
    if (complete) return { record: decoded.record(partSource(parts)), commitId: decoded.commitId };
    names = [...decoded.parts.keys()];
  }
  throw new StoreError(
    'STORE_UNAVAILABLE',
    'read',
    `resource ${resourceId} changes faster than it can be read`,
  );
}

export function partSource(parts: ReadonlyMap<string, Item | undefined>) {
  return (name: string) => {
    const { value: text, revision } = parts.get(name)!;
    return { text, revision };
  };
}
