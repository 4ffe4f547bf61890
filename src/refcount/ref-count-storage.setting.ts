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
