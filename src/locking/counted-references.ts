import { ChunkedList } from '../core/chunked-list.js';
import { NO_REFERENCES, type Reference, referenceShape, type ResourceState } from '../core/state.js';
import { type RefCountStorage } from '../refcount/ref-count-storage.interface.js';
import { StoreError } from '../stores/store.error.js';

/**
 * Where the references of a resource are while a command is applied to it. By default they are part of its state; with
 * a storage of the user's they are read before each step and written before its commit and before any answer, so
 * that a crash in between leaves a reference too many or a delete still held, never one too few.
 */
export class CountedReferences {
  constructor(private readonly storage: RefCountStorage | undefined) {}

  /** `undefined`: they are in the state. */
  async load(resourceId: string): Promise<ChunkedList<Reference> | undefined> {
    const { storage } = this;
    if (!storage) return undefined;
    const count = await guarded('read', () => storage.getRefCount(resourceId));
    let id = 0;
    const references = (count?.nodes ?? []).map(({ nodeId, sinceMs }) => ({ nodeId, sinceMs }));
    return ChunkedList.empty(referenceShape).appendAll(references, () => ++id);
  }

  async save(
    resourceId: string,
    loaded: ChunkedList<Reference> | undefined,
    next: ChunkedList<Reference>,
  ): Promise<void> {
    const { storage } = this;
    if (!storage || loaded === next) return;
    if (next.size === 0) return guarded('delete', () => storage.deleteRefCount(resourceId));
    const nodes = Array.from(next, ({ nodeId, sinceMs }) =>
      sinceMs === undefined ? { nodeId } : { nodeId, sinceMs },
    );
    return guarded('write', () => storage.setRefCount(resourceId, { count: nodes.length, nodes }));
  }

  attach(state: ResourceState, loaded: ChunkedList<Reference> | undefined): ResourceState {
    return loaded ? { ...state, references: loaded } : state;
  }

  /** The state as it is kept in the store. */
  detach(state: ResourceState): ResourceState {
    return this.storage ? { ...state, references: NO_REFERENCES } : state;
  }
}

async function guarded<T>(operation: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    throw new StoreError(
      'STORE_UNAVAILABLE',
      `${operation} references`,
      `the storage of reference counts failed: ${cause instanceof Error ? cause.message : String(cause)}`,
      cause,
    );
  }
}
