import { describe, expect, it } from 'vitest';
import { MemoryRefCountStorage } from './memory-ref-count-storage.js';
import { refCountStorageContract, type RefCountStorageFixture } from './ref-count-storage.contract.js';
import {
  type RefCountStorage,
  type ReferenceCount,
  type ReferencingNode,
} from './ref-count-storage.interface.js';
import { SerialByKey } from './serial-by-key.js';

/** Runs the suite as a test runner would and answers the names of the tests that failed. */
async function failuresOf(make: () => RefCountStorageFixture): Promise<string[]> {
  const tests: [string, () => Promise<void>][] = [];
  refCountStorageContract(
    { describe: (_, body) => body(), it: (name, body) => tests.push([name, body]) },
    async () => make(),
  );
  const failures: string[] = [];
  for (const [name, body] of tests) await body().catch(() => failures.push(name));
  return failures;
}

/** The names of the tests that say they prove nothing of this storage. */
async function skippedOf(make: () => RefCountStorageFixture): Promise<string[]> {
  const skipped: string[] = [];
  const running: Promise<void>[] = [];
  const it = (name: string, body: (context: object) => Promise<void>) =>
    running.push(body({ skip: () => skipped.push(name) }));
  refCountStorageContract({ describe: (_, body) => body(), it }, async () => make());
  await Promise.all(running);
  return skipped;
}

/** Sound but for what a test replaces in it. */
function memoryWith(
  defect: (storage: MemoryRefCountStorage) => Partial<RefCountStorage>,
): RefCountStorageFixture {
  const storage = new MemoryRefCountStorage();
  const sound: RefCountStorage = {
    getRefCount: (id) => storage.getRefCount(id),
    setRefCount: (id, refCount) => storage.setRefCount(id, refCount),
    deleteRefCount: (id) => storage.deleteRefCount(id),
    listByNode: (id) => storage.listByNode(id),
  };
  return { storage: { ...sound, ...defect(storage) }, reopen: async () => storage };
}

/** As it should be, for one process: one after the other. */
function carefully(storage: MemoryRefCountStorage): Pick<RefCountStorage, 'removeNode'> {
  const turns = new SerialByKey();
  return {
    removeNode: (id, nodeId) =>
      turns.run(id, async () => {
        const nodes = (await storage.getRefCount(id))?.nodes ?? [];
        const others = nodes.filter((node) => node.nodeId !== nodeId);
        await storage.setRefCount(id, { count: others.length, nodes: others });
        return others.length < nodes.length;
      }),
  };
}

async function addCarelessly(storage: RefCountStorage, id: string, node: ReferencingNode): Promise<void> {
  const nodes = (await storage.getRefCount(id))?.nodes ?? [];
  if (nodes.some(({ nodeId }) => nodeId === node.nodeId)) return;
  await storage.setRefCount(id, { count: nodes.length + 1, nodes: [...nodes, node] });
}

describe('refCountStorageContract', () => {
  it('skips what the storage cannot do, and nothing else', async () => {
    const withoutSingleNodes = [
      'adds and removes after the count was set as a whole, if it can',
      'loses no change of several writers at once, if it can be shared',
    ];
    expect(await skippedOf(() => memoryWith(() => ({})))).toEqual(withoutSingleNodes);
    expect(await skippedOf(() => ({ storage: new MemoryRefCountStorage(), keepsOwnTimes: true }))).toEqual([
      'gives back when each node came, and nothing for a node without a time',
      ...withoutSingleNodes,
      'has everything again after reopening, if it outlives its process',
    ]);
  });

  it('passes a sound storage', async () => {
    expect(await failuresOf(() => memoryWith(() => ({})))).toEqual([]);
  });

  it('passes a storage without listByNode and without times', async () => {
    const make = (): RefCountStorageFixture => {
      const storage = new MemoryRefCountStorage();
      const getRefCount = async (id: string): Promise<ReferenceCount | undefined> => {
        const stored = await storage.getRefCount(id);
        return stored && { ...stored, nodes: stored.nodes.map(({ nodeId }) => ({ nodeId })) };
      };
      const setRefCount = storage.setRefCount.bind(storage);
      const deleteRefCount = storage.deleteRefCount.bind(storage);
      return { storage: { getRefCount, setRefCount, deleteRefCount }, forgetsSince: true };
    };
    expect(await failuresOf(make)).toEqual([]);
  });

  const defects: [string, string, (storage: MemoryRefCountStorage) => Partial<RefCountStorage>][] = [
    [
      'answers an empty count for the unknown',
      'answers undefined for a resource nobody refers to',
      (storage) => ({
        getRefCount: async (id) => (await storage.getRefCount(id)) ?? { count: 0, nodes: [] },
      }),
    ],
    [
      'sorts the nodes',
      'gives back the nodes in the order in which they came',
      (storage) => ({
        getRefCount: async (id) => {
          const stored = await storage.getRefCount(id);
          return (
            stored && { ...stored, nodes: [...stored.nodes].sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1)) }
          );
        },
      }),
    ],
    [
      'forgets times',
      'gives back when each node came, and nothing for a node without a time',
      (storage) => ({
        setRefCount: (id, { count, nodes }) =>
          storage.setRefCount(id, { count, nodes: nodes.map(({ nodeId }) => ({ nodeId })) }),
      }),
    ],
    [
      'adds instead of replacing',
      'replaces the whole count',
      (storage) => ({
        setRefCount: async (id, { nodes }) => {
          const all = [...((await storage.getRefCount(id))?.nodes ?? []), ...nodes];
          await storage.setRefCount(id, { count: all.length, nodes: all });
        },
      }),
    ],
    [
      'does not delete',
      'deletes a count, and deletes it again without complaint',
      () => ({ deleteRefCount: async () => undefined }),
    ],
    [
      'complains about deleting twice',
      'deletes a count, and deletes it again without complaint',
      (storage) => ({
        deleteRefCount: async (id) => {
          if (!(await storage.getRefCount(id))) throw new Error('not found');
          await storage.deleteRefCount(id);
        },
      }),
    ],
    [
      'folds case',
      'takes any name for a resource and for a node',
      (storage) => ({
        getRefCount: (id) => storage.getRefCount(id.toLowerCase()),
        setRefCount: (id, refCount) => storage.setRefCount(id.toLowerCase(), refCount),
      }),
    ],
    [
      'cuts names',
      'takes the longest names and tells them apart to the last character',
      (storage) => ({
        getRefCount: (id) => storage.getRefCount(id.slice(0, 255)),
        setRefCount: (id, refCount) => storage.setRefCount(id.slice(0, 255), refCount),
      }),
    ],
    [
      'keeps a thousand nodes at most',
      'keeps many nodes on one resource',
      (storage) => ({
        setRefCount: (id, { nodes }) => storage.setRefCount(id, { count: 1000, nodes: nodes.slice(0, 1000) }),
      }),
    ],
    [
      'lists by what was set first',
      'keeps the list of a node in step with replacing and deleting',
      (storage) => {
        const first = new Map<string, readonly string[]>();
        return {
          setRefCount: async (id, refCount) => {
            await storage.setRefCount(id, refCount);
            if (!first.has(id))
              first.set(
                id,
                refCount.nodes.map(({ nodeId }) => nodeId),
              );
          },
          listByNode: async (nodeId) =>
            [...first]
              .filter(([, nodes]) => nodes.includes(nodeId))
              .map(([id]) => id)
              .sort(),
        };
      },
    ],
    [
      'reads, changes and writes back when adding',
      'loses no change of several writers at once, if it can be shared',
      (storage) => ({ ...carefully(storage), addNode: (id, node) => addCarelessly(storage, id, node) }),
    ],
    [
      'adds a node twice',
      'adds and removes single nodes, if it can',
      (storage) => ({
        ...carefully(storage),
        addNode: async (id, node) => {
          const nodes = (await storage.getRefCount(id))?.nodes ?? [];
          await storage.setRefCount(id, { count: nodes.length + 1, nodes: [...nodes, node] });
        },
      }),
    ],
    [
      'adds and cannot remove',
      'adds and removes single nodes, if it can',
      (storage) => ({ addNode: (id, node) => addCarelessly(storage, id, node) }),
    ],
    [
      'counts wrongly',
      'gives back the nodes in the order in which they came',
      (storage) => ({
        getRefCount: async (id) => {
          const stored = await storage.getRefCount(id);
          return stored && { ...stored, count: 1 };
        },
      }),
    ],
  ];

  it.each(defects)('catches a storage that %s', async (_, test, defect) => {
    expect(await failuresOf(() => memoryWith(defect))).toContain(test);
  });

  it('catches a storage that keeps and hands out aliases', async () => {
    const aliasing = (): RefCountStorageFixture => {
      const counts = new Map<string, ReferenceCount>();
      return {
        storage: {
          getRefCount: async (id) => counts.get(id),
          setRefCount: async (id, refCount) => void counts.set(id, refCount),
          deleteRefCount: async (id) => void counts.delete(id),
        },
      };
    };
    expect(await failuresOf(aliasing)).toEqual([
      'is not changed through what was passed to it',
      'is not changed through what it handed out',
    ]);
  });

  it('catches a storage that is empty after reopening', async () => {
    const forgetful = () => ({
      storage: new MemoryRefCountStorage(),
      reopen: async () => new MemoryRefCountStorage(),
    });
    expect(await failuresOf(forgetful)).toEqual([
      'has everything again after reopening, if it outlives its process',
    ]);
  });

  it('disposes of every fixture, also after a failure', async () => {
    let made = 0;
    let disposed = 0;
    const failures = await failuresOf(() => {
      made++;
      const broken = memoryWith(() => ({ setRefCount: () => Promise.reject(new Error('broken')) }));
      return { ...broken, dispose: async () => void disposed++ };
    });
    expect(failures.length).toBeGreaterThan(0);
    expect(disposed).toBe(made);
  });
});
