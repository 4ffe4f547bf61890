import { describe, expect, it } from 'vitest';
import { FileRefCountStorage } from './file-ref-count-storage.js';
import { MemoryRefCountStorage } from './memory-ref-count-storage.js';
import { refCountStorageFor } from './ref-count-storage.setting.js';

describe('REFCOUNT_STORAGE', () => {
  it('names the resource’s own state, memory or a file', () => {
    expect(refCountStorageFor('store')).toBeUndefined();
    expect(refCountStorageFor('memory:')).toBeInstanceOf(MemoryRefCountStorage);
    expect(refCountStorageFor('file:./refcounts.json')).toBeInstanceOf(FileRefCountStorage);
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
