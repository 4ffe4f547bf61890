/**
 * Where reference counts live when they do not live in the resource's own state: the seam for a user's own storage.
 *
 * Calls of one manager for one resource never overlap. A method that rejects makes the request fail with 503 and changes
 * nothing else. Without `addNode` and `removeNode` a storage belongs to one manager: `getRefCount` and `setRefCount` together are no
 * atomic step.
 */
export interface RefCountStorage {
  /** `undefined` when nobody refers to the resource. */
  getRefCount(resourceId: string): Promise<ReferenceCount | undefined>;

  /** Replaces the whole count. Durable before it resolves, as far as the storage is durable at all. */
  setRefCount(resourceId: string, refCount: ReferenceCount): Promise<void>;

  /** No error if there is none. */
  deleteRefCount(resourceId: string): Promise<void>;

  /**
   * Adds one node at the end, unless it is there: then nothing changes, not even its time. It comes with
   * `removeNode`, and both are atomic whoever else changes the same resource: then many managers may share the storage.
   */
  addNode?(resourceId: string, node: ReferencingNode): Promise<void>;

  /** True: it was there. */
  removeNode?(resourceId: string, nodeId: string): Promise<boolean>;

  /** The resources a node refers to. Without it a node's references cannot be released all at once. */
  listByNode?(nodeId: string): Promise<readonly string[]>;
}

export const REF_COUNT_STORAGE = Symbol('REF_COUNT_STORAGE');

export interface ReferenceCount {
  /** Always the number of `nodes`. */
  readonly count: number;
  /** Each node once, in the order in which they came. */
  readonly nodes: readonly ReferencingNode[];
}

export interface ReferencingNode {
  readonly nodeId: string;
  /** Wall-clock milliseconds of the moment the node became a reference, where the storage keeps it. */
  readonly sinceMs?: number;
}
