/** What the contract suite's tests are written with. Not for users. */
import assert from 'node:assert/strict';
import {
  type RefCountStorage,
  type ReferenceCount,
  type ReferencingNode,
} from './ref-count-storage.interface.js';

const STRANGE_NAMES = [
  '__proto__',
  'constructor',
  'toString',
  '层/レイヤー/🧱',
  'e\u0301 is not \u00e9',
  '"quoted" \'twice\' \\ `and` ${again}',
  'sha256:../../etc/passwd?a=b&c=%00#*',
  ' spaces around ',
  'new\nline\ttab\u0000nul',
  'UPPER',
  'upper',
] as const;

export function strangeNames(fixture: { readonly refusesControlCharacters?: boolean }): string[] {
  return STRANGE_NAMES.filter((name) => !fixture.refusesControlCharacters || !/\p{Cc}/u.test(name));
}

export function countOf(...nodeIds: string[]): ReferenceCount {
  return { count: nodeIds.length, nodes: nodeIds.map((nodeId, at) => ({ nodeId, sinceMs: at })) };
}

export function not(name: string): (other: string) => boolean {
  return (other) => other !== name;
}

export async function expectNodes(
  storage: RefCountStorage,
  resourceId: string,
  nodeIds: string[],
): Promise<void> {
  const stored = await storage.getRefCount(resourceId);
  assert.deepEqual(
    stored?.nodes.map((node) => node.nodeId),
    nodeIds,
  );
  assert.equal(stored?.count, nodeIds.length, 'count is the number of nodes');
}

/** A storage that can add but not remove is of no use to anybody. */
export function assertNeither({ addNode, removeNode }: RefCountStorage): void {
  assert.equal(addNode, undefined, 'addNode comes with removeNode');
  assert.equal(removeNode, undefined, 'removeNode comes with addNode');
}

/** Order is the storage's own affair. */
export async function expectListed(
  storage: RefCountStorage,
  nodeId: string,
  resourceIds: string[],
): Promise<void> {
  if (storage.listByNode) assert.deepEqual([...(await storage.listByNode(nodeId))].sort(), resourceIds);
}

/** Does to a count what a careless caller might. */
export function spoil(refCount: ReferenceCount | undefined): void {
  assert.ok(refCount);
  const mutable = refCount as {
    count: number;
    nodes: { -readonly [Key in keyof ReferencingNode]: ReferencingNode[Key] }[];
  };
  attempt(() => (mutable.count = 99));
  attempt(() => (mutable.nodes[0]!.nodeId = 'spoiled'));
  attempt(() => mutable.nodes.push({ nodeId: 'spoiled' }));
}

/** Frozen values refuse to be changed, which is as good as being copies. */
export function attempt(change: () => unknown): void {
  try {
    change();
  } catch (error) {
    assert.ok(error instanceof TypeError);
  }
}
