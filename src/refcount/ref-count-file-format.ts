import { createHash } from 'node:crypto';
import { type ReferencingNode } from './ref-count-storage.interface.js';

/** Tells our file from any other JSON. */
const FORMAT = 'holdfast-refcounts';

/** Raised when an older program could no longer read the file rightly. */
const VERSION = 1;

export type StoredResource = readonly [resourceId: string, nodes: readonly ReferencingNode[]];

/** Pairs in arrays, never names as keys: a resource or node may be called `__proto__`. */
type EncodedResource = [resourceId: string, nodes: EncodedNode[]];
type EncodedNode = [nodeId: string] | [nodeId: string, sinceMs: number];

/** JSON with a checksum over the resources, since half a disk block gone bad can still be valid JSON. */
export function encodeRefCounts(resources: Iterable<StoredResource>): string {
  const body = JSON.stringify(Array.from(resources, encodeResource));
  return `{"format":"${FORMAT}","version":${VERSION},"sha256":"${sha256(body)}","resources":${body}}\n`;
}

/** Throws an `Error` that says what is wrong with the text. */
export function decodeRefCounts(text: string): StoredResource[] {
  const file = parse(text);
  if (!isRecord(file) || file['format'] !== FORMAT) throw new Error('it is not a reference-count file');
  if (file['version'] !== VERSION) {
    throw new Error(`it has version ${String(file['version'])}, this program reads version ${VERSION}`);
  }
  const resources = file['resources'];
  if (file['sha256'] !== sha256(JSON.stringify(resources) ?? '')) {
    throw new Error('it is damaged: its checksum does not match');
  }
  if (!Array.isArray(resources) || !resources.every(isEncodedResource)) {
    throw new Error('it is damaged: its resources are not of the expected form');
  }
  return resources.map(decodeResource);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error('it is damaged or not a reference-count file: it is not JSON', { cause });
  }
}

function encodeResource([resourceId, nodes]: StoredResource): EncodedResource {
  return [
    resourceId,
    nodes.map(({ nodeId, sinceMs }) => (sinceMs === undefined ? [nodeId] : [nodeId, sinceMs])),
  ];
}

function decodeResource([resourceId, nodes]: EncodedResource): StoredResource {
  return [
    resourceId,
    nodes.map(([nodeId, sinceMs]) => (sinceMs === undefined ? { nodeId } : { nodeId, sinceMs })),
  ];
}

function isEncodedResource(value: unknown): value is EncodedResource {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [resourceId, nodes]: unknown[] = value;
  return typeof resourceId === 'string' && Array.isArray(nodes) && nodes.every(isEncodedNode);
}

function isEncodedNode(value: unknown): value is EncodedNode {
  if (!Array.isArray(value) || value.length < 1 || value.length > 2) return false;
  const [nodeId, sinceMs]: unknown[] = value;
  return typeof nodeId === 'string' && (sinceMs === undefined || typeof sinceMs === 'number');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
