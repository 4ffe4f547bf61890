import { RefCountError } from '../../refcount/ref-count.error.js';
import { type ReferencingNode } from '../../refcount/ref-count-storage.interface.js';

/** One node that uses one resource, as a file. */
export interface StoredReference extends ReferencingNode {
  readonly resourceId: string;
  /** Later ones came later. */
  readonly order: number;
}

export function encodeReference({ resourceId, nodeId, sinceMs, order }: StoredReference): string {
  return `${JSON.stringify({ format: 'holdfast-reference', version: 1, resourceId, nodeId, sinceMs, order })}\n`;
}

/** A file that is not understood is reported and left as it is: it may stand for a node that uses the resource. */
export function decodeReference(text: string, path: string): StoredReference {
  const value = parsed(text);
  if (isReference(value)) {
    const { resourceId, nodeId, sinceMs, order } = value;
    return { resourceId, nodeId, order, ...(sinceMs !== undefined && { sinceMs }) };
  }
  const message = `Cannot use ${path}: it is damaged or not a reference. It was left as it is; restore a copy of it or move it away.`;
  throw new RefCountError('REFCOUNT_UNREADABLE', 'read', message);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isReference(value: unknown): value is StoredReference {
  if (typeof value !== 'object' || value === null) return false;
  const { format, version, resourceId, nodeId, order, sinceMs } = value as Record<string, unknown>;
  if (format !== 'holdfast-reference' || version !== 1) return false;
  const names = typeof resourceId === 'string' && typeof nodeId === 'string';
  return names && typeof order === 'number' && (sinceMs === undefined || typeof sinceMs === 'number');
}
