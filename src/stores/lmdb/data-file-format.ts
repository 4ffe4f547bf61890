/**
 * As much of LMDB's file format (data version 2, little-endian, the one lmdb 3.x writes) as it takes to check
 * a file before LMDB maps it. Every reader answers `undefined` for bytes that cannot be what was asked for.
 *
 * Page header: number (8), transaction (8), pad (2), kind (2), lower and upper bound of the free space (2, 2;
 * together the number of pages for an overflow page). Node offsets follow; both count from behind the header.
 */
const HEADER_BYTES = 24;
const NODE_HEADER_BYTES = 8;

const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
const NO_ROOT = 0xffff_ffff_ffff_ffffn;

/** A leaf node with this flag has its value on overflow pages. */
const LONG_VALUE = 1;
const LONG_VALUE_BYTES = 24;

export const PAGE_KIND = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;
const KIND_MASK = 0x6f;

export interface Tree {
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly overflowPages: number;
  readonly entries: number;
  readonly root: number | undefined;
}

export interface Meta {
  readonly pageBytes: number;
  readonly transaction: number;
  readonly free: Tree;
  readonly main: Tree;
}

export type Page =
  | { readonly kind: typeof PAGE_KIND.branch; readonly children: readonly number[] }
  | {
      readonly kind: typeof PAGE_KIND.leaf;
      readonly entries: number;
      readonly overflows: readonly Overflow[];
    }
  | { readonly kind: typeof PAGE_KIND.overflow; readonly pages: number };

export interface Overflow {
  readonly first: number;
  readonly pages: number;
}

export function readMeta(bytes: Buffer, number: number): Meta | undefined {
  if (!isPage(bytes, number, PAGE_KIND.meta)) return undefined;
  if (bytes.readUInt32LE(24) !== MAGIC || (bytes.readUInt32LE(28) & 0xffff) !== DATA_VERSION)
    return undefined;
  return {
    pageBytes: bytes.readUInt32LE(48),
    free: readTree(bytes, 48),
    main: readTree(bytes, 96),
    transaction: integer(bytes, 152),
  };
}

export function readPage(bytes: Buffer, number: number): Page | undefined {
  if (isPage(bytes, number, PAGE_KIND.overflow)) {
    return { kind: PAGE_KIND.overflow, pages: bytes.readUInt32LE(20) };
  }
  const nodes = nodeOffsets(bytes);
  if (!nodes) return undefined;
  if (isPage(bytes, number, PAGE_KIND.branch)) {
    return { kind: PAGE_KIND.branch, children: nodes.map((node) => childOf(bytes, node)) };
  }
  return isPage(bytes, number, PAGE_KIND.leaf) ? readLeaf(bytes, nodes) : undefined;
}

function readLeaf(bytes: Buffer, nodes: readonly number[]): Page | undefined {
  const overflows: Overflow[] = [];
  for (const node of nodes) {
    const long = (bytes.readUInt16LE(node + 4) & LONG_VALUE) !== 0;
    const value = node + NODE_HEADER_BYTES + bytes.readUInt16LE(node + 6);
    const valueBytes = long ? LONG_VALUE_BYTES : bytes.readUInt32LE(node);
    if (value + valueBytes > bytes.length) return undefined;
    if (long) overflows.push({ first: integer(bytes, value), pages: integer(bytes, value + 16) });
  }
  return { kind: PAGE_KIND.leaf, entries: nodes.length, overflows };
}

function readTree(bytes: Buffer, at: number): Tree {
  return {
    depth: bytes.readUInt16LE(at + 6),
    branchPages: integer(bytes, at + 8),
    leafPages: integer(bytes, at + 16),
    overflowPages: integer(bytes, at + 24),
    entries: integer(bytes, at + 32),
    root: bytes.readBigUInt64LE(at + 40) === NO_ROOT ? undefined : integer(bytes, at + 40),
  };
}

function isPage(bytes: Buffer, number: number, kind: number): boolean {
  return integer(bytes, 0) === number && (bytes.readUInt16LE(18) & KIND_MASK) === kind;
}

function nodeOffsets(bytes: Buffer): number[] | undefined {
  const lower = bytes.readUInt16LE(20);
  const upper = bytes.readUInt16LE(22);
  if (lower > upper || upper > bytes.length - HEADER_BYTES) return undefined;
  const offsets: number[] = [];
  for (let slot = HEADER_BYTES; slot < HEADER_BYTES + lower; slot += 2) {
    const offset = HEADER_BYTES + bytes.readUInt16LE(slot);
    if (offset < HEADER_BYTES + upper || offset + NODE_HEADER_BYTES > bytes.length) return undefined;
    offsets.push(offset);
  }
  return offsets;
}

/** A branch node's page number: 48 bits, of which the node's flags are the upper 16. */
function childOf(bytes: Buffer, node: number): number {
  return bytes.readUInt32LE(node) + bytes.readUInt16LE(node + 4) * 2 ** 32;
}

/** Page numbers and counts stay far below 2^53; anything larger is damage and matches nothing. */
function integer(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}
