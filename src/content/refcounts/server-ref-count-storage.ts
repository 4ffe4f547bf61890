import { type LockClient } from '../../client/lock-client.js';
import {
  type RefCountStorage,
  type ReferenceCount,
  type ReferencingNode,
} from '../../refcount/ref-count-storage.interface.js';
import { referenceCountOf } from '../../refcount/reference-count.js';

/**
 * The server's own counts, over HTTP (`REFCOUNT_MODE=server`): for content-side code that asks a `RefCountManager` whoever
 * counts.
 *
 * Promises: adding and removing are the server's own steps, so that any number of processes may share it. Times are the server's.
 * Does not promise: that replacing a whole count is one step. It goes node by node, and nodes after the first that
 * differs are released and added again; use `addNode` and `removeNode`, as `RefCountManager` does. Of two that remove a node at
 * once both may be told that it was there. It cannot list by node.
 */
export class ServerRefCountStorage implements RefCountStorage {
  constructor(private readonly client: LockClient) {}

  async getRefCount(resourceId: string): Promise<ReferenceCount | undefined> {
    const { nodes } = await this.client.refs.get(resourceId);
    if (nodes.length === 0) return undefined;
    return referenceCountOf(
      nodes.map(({ nodeId, since }) => ({ nodeId, ...(since && { sinceMs: Date.parse(since) }) })),
    );
  }

  async setRefCount(resourceId: string, { nodes }: ReferenceCount): Promise<void> {
    const wanted = nodes.map(({ nodeId }) => nodeId);
    const there = (await this.client.refs.get(resourceId)).nodes.map(({ nodeId }) => nodeId);
    const differs = there.findIndex((nodeId, at) => nodeId !== wanted[at]);
    const kept = differs === -1 ? there.length : differs;
    for (const nodeId of there.slice(kept)) await this.client.refs.release(resourceId, nodeId);
    for (const nodeId of wanted.slice(kept)) await this.client.refs.add(resourceId, nodeId);
  }

  async deleteRefCount(resourceId: string): Promise<void> {
    const { nodes } = await this.client.refs.get(resourceId);
    for (const { nodeId } of nodes) await this.client.refs.release(resourceId, nodeId);
  }

  async addNode(resourceId: string, { nodeId }: ReferencingNode): Promise<void> {
    await this.client.refs.add(resourceId, nodeId);
  }

  async removeNode(resourceId: string, nodeId: string): Promise<boolean> {
    const { nodes } = await this.client.refs.get(resourceId);
    await this.client.refs.release(resourceId, nodeId);
    return nodes.some((node) => node.nodeId === nodeId);
  }
}
