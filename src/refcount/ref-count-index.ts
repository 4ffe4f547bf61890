import { type ReferenceCount, type ReferencingNode } from './ref-count-storage.interface.js';
import { referenceCountOf } from './reference-count.js';

/**
 * Counts in memory, by resource and by node. Keeps copies and hands out frozen values. A count without nodes is the
 * same as none. Maps, never plain objects: a node may be called `__proto__`.
 */
export class RefCountIndex {
  private readonly counts = new Map<string, ReferenceCount>();
  private readonly resourcesByNode = new Map<string, Set<string>>();

  get(resourceId: string): ReferenceCount | undefined {
    return this.counts.get(resourceId);
  }

  put(resourceId: string, nodes: readonly ReferencingNode[]): void {
    const before = this.counts.get(resourceId)?.nodes ?? [];
    const after = referenceCountOf(nodes);
    const unchanged = commonStart(before, after.nodes);
    for (const { nodeId } of before.slice(unchanged)) this.unlist(nodeId, resourceId);
    for (const { nodeId } of after.nodes.slice(unchanged)) this.list(nodeId, resourceId);
    if (after.count > 0) this.counts.set(resourceId, after);
    else this.counts.delete(resourceId);
  }

  listByNode(nodeId: string): string[] {
    return [...(this.resourcesByNode.get(nodeId) ?? [])];
  }

  entries(): Iterable<readonly [resourceId: string, refCount: ReferenceCount]> {
    return this.counts.entries();
  }

  private list(nodeId: string, resourceId: string): void {
    const resources = this.resourcesByNode.get(nodeId);
    if (resources) resources.add(resourceId);
    else this.resourcesByNode.set(nodeId, new Set([resourceId]));
  }

  private unlist(nodeId: string, resourceId: string): void {
    const resources = this.resourcesByNode.get(nodeId);
    if (resources?.delete(resourceId) && resources.size === 0) this.resourcesByNode.delete(nodeId);
  }
}

/** Nearly every change appends one node; the thousands before it need no re-indexing. */
function commonStart(before: readonly ReferencingNode[], after: readonly ReferencingNode[]): number {
  const longest = Math.min(before.length, after.length);
  let length = 0;
  while (length < longest && before[length]?.nodeId === after[length]?.nodeId) length++;
  return length;
}
