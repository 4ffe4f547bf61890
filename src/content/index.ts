/** Blobs that many nodes share: `import { ContentNode, ContentStore } from 'holdfast/content'`. */
export { ContentNode, type ContentNodeOptions, type Opened, type OpenOptions } from './content-node.js';
export { ContentWriter } from './content-writer.js';
export { ContentError, type ContentErrorCode, SourceError } from './errors.js';
export { DirectoryRefCountStorage } from './refcounts/directory-ref-count-storage.js';
export { ServerRefCountStorage } from './refcounts/server-ref-count-storage.js';
export { type SweepOptions, type SweepResult } from './remover.js';
export { BlobReader } from './store/blob-reader.js';
export { type BlobInfo, ContentStore, type ContentStoreOptions } from './store/content-store.js';
export { type ContentFile, type ContentFileSystem } from './store/file-system.js';
export { Ingest, type IngestAbout } from './store/ingest.js';
export { type IngestStatus } from './store/ingests.js';
export { nodeName } from './store/layout.js';
export { MemoryRefCountStorage } from '../refcount/memory-ref-count-storage.js';
export {
  type OperationResult,
  type PermissionDecision,
  RefCountManager,
  type RefCountManagerOptions,
  type SkipDecision,
} from '../refcount/ref-count-manager.js';
export {
  refCountStorageContract,
  type RefCountStorageFixture,
} from '../refcount/ref-count-storage.contract.js';
export {
  type RefCountStorage,
  type ReferenceCount,
  type ReferencingNode,
} from '../refcount/ref-count-storage.interface.js';
export { RefCountError, type RefCountErrorCode } from '../refcount/ref-count.error.js';
