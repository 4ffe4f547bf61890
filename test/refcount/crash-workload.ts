import { type ReferenceCount } from '../../src/refcount/ref-count-storage.interface.js';
import { referenceCountOf } from '../../src/refcount/reference-count.js';

/** Also how many changes are under way at once: one of each resource, as the port demands. */
export const RESOURCES = 64;

/** Some 5 MB, which Node writes in ten pieces: room for a kill to fall between them. */
export const BALLAST = referenceCountOf(
  Array.from({ length: 200_000 }, (_, at) => ({ nodeId: `ballast-node-${at}` })),
);

export function resourceOf(change: number): string {
  return `layer-${change % RESOURCES}`;
}

/** What the resource is after this change; every fifth deletes it. */
export function countAfter(change: number): ReferenceCount | undefined {
  return change % 5 === 0 ? undefined : referenceCountOf([{ nodeId: `node-${change}`, sinceMs: change }]);
}
