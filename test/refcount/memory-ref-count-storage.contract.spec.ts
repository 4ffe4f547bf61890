import { describe, it } from 'vitest';
import { MemoryRefCountStorage } from '../../src/refcount/memory-ref-count-storage.js';
import { refCountStorageContract } from '../../src/refcount/ref-count-storage.contract.js';

refCountStorageContract({ describe, it }, async () => ({ storage: new MemoryRefCountStorage() }));
