import { RefCountIndex } from './ref-count-index.js';
import { type RefCountStorage, type ReferenceCount } from './ref-count-storage.interface.js';

/** `memory:` Counts for the life of the process. Promises nothing after it: for tests, and for content that is as short-lived. */
export class MemoryRefCountStorage implements RefCountStorage {
  private readonly index = new RefCountIndex();

  async getRefCount(resourceId: string): Promise<ReferenceCount | undefined> {
    return this.index.get(resourceId);
  }

  async setRefCount(resourceId: string, refCount: ReferenceCount): Promise<void> {
    this.index.put(resourceId, refCount.nodes);
  }

  async deleteRefCount(resourceId: string): Promise<void> {
    this.index.put(resourceId, []);
  }

  async listByNode(nodeId: string): Promise<readonly string[]> {
    return this.index.listByNode(nodeId);
  }
}
