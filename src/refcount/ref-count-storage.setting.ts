import { FileRefCountStorage } from './file-ref-count-storage.js';
import { MemoryRefCountStorage } from './memory-ref-count-storage.js';
import { type RefCountStorage } from './ref-count-storage.interface.js';
import { RefCountError } from './ref-count.error.js';

/** What `REFCOUNT_STORAGE` names; `undefined` for `store`, the resource's own state. Opens nothing yet. */
export function refCountStorageFor(setting: string): RefCountStorage | undefined {
  if (setting === 'store') return undefined;
  if (setting === 'memory:') return new MemoryRefCountStorage();
  const path = /^file:(.+)$/s.exec(setting)?.[1];
  if (path !== undefined) return new FileRefCountStorage(path);
  throw new RefCountError(
    'REFCOUNT_UNSUPPORTED',
    'configure',
    `REFCOUNT_STORAGE is "${setting}"; it must be "store", "memory:" or "file:PATH"`,
  );
}

/** Why counts kept beside the state need a state that one process serves. */
export const NEEDS_EMBEDDED_STORE =
  'needs an embedded store (memory: or file:DIR): counts are read and written inside a resource’s serialised step, ' +
  'which instances that share redis:// or etcd:// do not share';

/** Refuses a storage of counts beside a state that several instances may serve. */
export function assertEmbedded(storage: RefCountStorage | undefined, sharedStore: boolean): void {
  if (!storage || !sharedStore) return;
  throw new RefCountError(
    'REFCOUNT_UNSUPPORTED',
    'configure',
    `A RefCountStorage ${NEEDS_EMBEDDED_STORE}. Leave it out, or set REFCOUNT_STORAGE=store.`,
  );
}
