import { type ReferenceCount, type ReferencingNode } from './ref-count-storage.interface.js';

/** A count made of copies of these nodes, frozen, so that it may be kept and handed out at once. */
export function referenceCountOf(nodes: readonly ReferencingNode[]): ReferenceCount {
  const copies = nodes.map(({ nodeId, sinceMs }) =>
    Object.freeze(sinceMs === undefined ? { nodeId } : { nodeId, sinceMs }),
  );
  return Object.freeze({ count: copies.length, nodes: Object.freeze(copies) });
}

export const NO_REFERENCES = referenceCountOf([]);
