import { describe, expect, it } from 'vitest';
import { FileRefCountStorage } from './file-ref-count-storage.js';
import { MemoryRefCountStorage } from './memory-ref-count-storage.js';
import { assertEmbedded, refCountStorageFor } from './ref-count-storage.setting.js';

describe('REFCOUNT_STORAGE', () => {
  it('names the resource’s own state, memory or a file', () => {
    expect(refCountStorageFor('store')).toBeUndefined();
    expect(refCountStorageFor('memory:')).toBeInstanceOf(MemoryRefCountStorage);
    expect(refCountStorageFor('file:./refcounts.json')).toBeInstanceOf(FileRefCountStorage);
  });

  it('refuses a storage beside a state that instances share, whoever made it', () => {
    const storage = new MemoryRefCountStorage();
    expect(() => assertEmbedded(storage, true)).toThrow('needs an embedded store');
    expect(() => assertEmbedded(storage, false)).not.toThrow();
    expect(() => assertEmbedded(undefined, true)).not.toThrow();
  });

  it.each(['', 'file:', 'redis://localhost', 'memory:x'])(
    'refuses "%s" and says what it may be',
    (setting) => {
      expect(() => refCountStorageFor(setting)).toThrow(
        `REFCOUNT_STORAGE is "${setting}"; it must be "store"`,
      );
    },
  );
});
