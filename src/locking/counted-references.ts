import { NotImplementedException } from '@nestjs/common';
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
  /** The last call for each resource: calls for one resource never overlap, not even those of readers. */
  private readonly calls = new Map<string, Promise<unknown>>();

  constructor(private readonly storage: RefCountStorage | undefined) {}

  /** In a storage of the user's own, not in the state. */
  get areElsewhere(): boolean {
    return this.storage !== undefined;
  }

  /** `undefined`: they are in the state. */
  load(resourceId: string): Promise<ChunkedList<Reference>> | undefined {
    return this.storage && this.read(this.storage, resourceId);
  }

  private async read(storage: RefCountStorage, resourceId: string): Promise<ChunkedList<Reference>> {
    const count = await this.call(resourceId, 'read', () => storage.getRefCount(resourceId));
    let id = 0;
    const references = (count?.nodes ?? []).map(({ nodeId, sinceMs }) => ({ nodeId, sinceMs }));
    return ChunkedList.empty(referenceShape).appendAll(references, () => ++id);
  }

  /** `undefined`: there is nothing to write. */
  save(
    resourceId: string,
    loaded: ChunkedList<Reference> | undefined,
    next: ChunkedList<Reference>,
  ): Promise<void> | undefined {
    const { storage } = this;
    if (!storage || loaded === next) return undefined;
    if (next.size === 0) {
      return this.call(resourceId, 'delete', () => storage.deleteRefCount(resourceId));
    }
    const nodes = Array.from(next, ({ nodeId, sinceMs }) =>
      sinceMs === undefined ? { nodeId } : { nodeId, sinceMs },
    );
    const refCount = { count: nodes.length, nodes };
    return this.call(resourceId, 'write', () => storage.setRefCount(resourceId, refCount));
  }

  /** `undefined`: they are in the states. */
  async listByNode(nodeId: string): Promise<readonly string[] | undefined> {
    const { storage } = this;
    if (!storage) return undefined;
    if (!storage.listByNode) throw new NotImplementedException(NO_LIST);
    return guarded('list', () => storage.listByNode!(nodeId));
  }

  attach(state: ResourceState, loaded: ChunkedList<Reference> | undefined): ResourceState {
    return loaded ? { ...state, references: loaded } : state;
  }

  /** The state as it is kept in the store. */
  detach(state: ResourceState): ResourceState {
    return this.storage ? { ...state, references: NO_REFERENCES } : state;
  }

  private call<T>(resourceId: string, operation: string, storageCall: () => Promise<T>): Promise<T> {
    const turn = () => guarded(operation, storageCall);
    const call = this.calls.get(resourceId)?.then(turn, turn) ?? turn();
    this.calls.set(resourceId, call);
    const done = () => void (this.calls.get(resourceId) === call && this.calls.delete(resourceId));
    call.then(done, done);
    return call;
  }
}

const NO_LIST = {
  code: 'NOT_IMPLEMENTED',
  message: 'The storage of reference counts cannot list by node: release the resources one by one.',
};

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
