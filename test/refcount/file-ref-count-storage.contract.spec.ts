import { join } from 'node:path';
import { describe, it } from 'vitest';
import { FileRefCountStorage } from '../../src/refcount/file-ref-count-storage.js';
import { refCountStorageContract } from '../../src/refcount/ref-count-storage.contract.js';
import { temporaryDirectory } from './temporary-directory.js';

refCountStorageContract({ describe, it }, async () => {
  const directory = await temporaryDirectory();
  const path = join(directory.path, 'refcounts.json');
  const storage = new FileRefCountStorage(path);
  const reopen = () => storage.close().then(() => new FileRefCountStorage(path));
  return { storage, reopen, dispose: directory.remove };
});
