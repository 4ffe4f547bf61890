import { beforeEach, describe, expect, it } from 'vitest';
import { gate } from '../../test/refcount/gate.js';
import { SimulatedClock } from '../../test/support/simulated-clock.js';
import { MemoryRefCountStorage } from './memory-ref-count-storage.js';
import { RefCountManager } from './ref-count-manager.js';
import { type RefCountStorage, type ReferenceCount } from './ref-count-storage.interface.js';
import { RefCountError } from './ref-count.error.js';

/** Takes its time, so that overlapping calls would show. */
class SlowStorage extends MemoryRefCountStorage {
  readonly calls: string[] = [];
  private readonly busy = new Set<string>();

  override getRefCount(resourceId: string): Promise<ReferenceCount | undefined> {
    return this.slowly('get', resourceId, () => super.getRefCount(resourceId));
  }

  override setRefCount(resourceId: string, refCount: ReferenceCount): Promise<void> {
    return this.slowly('set', resourceId, () => super.setRefCount(resourceId, refCount));
  }

  override deleteRefCount(resourceId: string): Promise<void> {
    return this.slowly('delete', resourceId, () => super.deleteRefCount(resourceId));
  }

  private async slowly<Result>(
    call: string,
    resourceId: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    if (this.busy.has(resourceId)) throw new Error(`overlapping calls for ${resourceId}`);
    this.busy.add(resourceId);
    this.calls.push(`${call} ${resourceId}`);
    await new Promise((resolve) => setImmediate(resolve));
    this.busy.delete(resourceId);
    return work();
  }
}

describe('RefCountManager', () => {
  let clock: SimulatedClock;
  let storage: SlowStorage;
  let manager: RefCountManager;

  beforeEach(() => {
    clock = new SimulatedClock(1000);
    storage = new SlowStorage();
    manager = new RefCountManager(storage, { clock });
  });

  const pulled = (nodeId: string, resourceId = 'layer') =>
    manager.updateRefCount('pull', resourceId, { nodeId, success: true });
  const nodesOf = async (resourceId = 'layer') =>
    (await manager.getRefCount(resourceId)).nodes.map((node) => node.nodeId);

  it('counts 0 for a resource nobody refers to', async () => {
    expect(await manager.getRefCount('unknown')).toEqual({ count: 0, nodes: [] });
  });

  describe('deciding', () => {
    it('skips a pull only of what somebody has', async () => {
      expect(await manager.shouldSkipOperation('pull', 'layer')).toEqual({ skip: false, reason: '' });
      await pulled('a');
      expect(await manager.shouldSkipOperation('pull', 'layer')).toEqual({
        skip: true,
        reason: 'resource already present',
      });
    });

    it.each(['update', 'delete', 'verify'])('never skips %s', async (type) => {
      await pulled('a');
      expect(await manager.shouldSkipOperation(type, 'layer')).toEqual({ skip: false, reason: '' });
    });

    it('refuses to delete what is in use, saying by how many', async () => {
      expect(await manager.canPerformOperation('delete', 'layer')).toEqual({ allowed: true, reason: '' });
      await pulled('a');
      expect(await manager.canPerformOperation('delete', 'layer')).toEqual({
        allowed: false,
        reason: 'in use by 1 node',
      });
      await pulled('b');
      expect(await manager.canPerformOperation('delete', 'layer')).toEqual({
        allowed: false,
        reason: 'in use by 2 nodes',
      });
    });

    it('refuses an update of what is in use only when told to', async () => {
      await pulled('a');
      const strict = new RefCountManager(storage, { updateRequiresNoRef: true });
      expect(await manager.canPerformOperation('update', 'layer')).toEqual({ allowed: true, reason: '' });
      expect(await strict.canPerformOperation('update', 'layer')).toEqual({
        allowed: false,
        reason: 'in use by 1 node',
      });
      expect(await strict.canPerformOperation('update', 'unused')).toEqual({ allowed: true, reason: '' });
    });

    it.each(['pull', 'verify'])('always allows %s, without asking the storage', async (type) => {
      expect(await manager.canPerformOperation(type, 'layer')).toEqual({ allowed: true, reason: '' });
      expect(storage.calls).toEqual([]);
    });
  });

  describe('counting', () => {
    it('adds a node once, at the time of its first pull, without writing again', async () => {
      await pulled('a');
      await clock.advance(500);
      await pulled('b');
      await pulled('a');
      expect(await manager.getRefCount('layer')).toEqual({
        count: 2,
        nodes: [
          { nodeId: 'a', sinceMs: 1000 },
          { nodeId: 'b', sinceMs: 1500 },
        ],
      });
      expect(storage.calls.filter((call) => call.startsWith('set'))).toHaveLength(2);
    });

    it('drops every reference with a delete', async () => {
      await Promise.all([pulled('a'), pulled('b')]);
      await manager.updateRefCount('delete', 'layer', { nodeId: 'c', success: true });
      expect(await nodesOf()).toEqual([]);
      expect(await storage.getRefCount('layer')).toBeUndefined();
    });

    it.each(['update', 'verify'])('changes nothing with %s', async (type) => {
      await manager.updateRefCount(type, 'layer', { nodeId: 'a', success: true });
      expect(storage.calls).toEqual([]);
    });

    it.each(['pull', 'update', 'delete'])('changes nothing with a failed %s', async (type) => {
      await pulled('a');
      await manager.updateRefCount(type, 'layer', { nodeId: 'b', success: false, error: 'no route' });
      expect(await nodesOf()).toEqual(['a']);
    });

    it('makes the count of what a careless storage answers', async () => {
      storage.getRefCount = async () => ({ count: 7, nodes: [{ nodeId: 'a' }] });
      expect(await manager.getRefCount('layer')).toEqual({ count: 1, nodes: [{ nodeId: 'a' }] });
    });
  });

  describe('at once', () => {
    it('loses none of many updates of one resource', async () => {
      const nodes = Array.from({ length: 50 }, (_, at) => `node-${at}`);
      await Promise.all(nodes.map((node) => pulled(node)));
      expect(await nodesOf()).toEqual(nodes);
    });

    it('never has two calls for one resource in the storage', async () => {
      await Promise.all([
        pulled('a'),
        manager.getRefCount('layer'),
        manager.shouldSkipOperation('pull', 'layer'),
        manager.canPerformOperation('delete', 'layer'),
        manager.releaseRef('layer', 'a'),
        manager.updateRefCount('delete', 'layer', { nodeId: 'b', success: true }),
        manager.releaseNodeRefs('a'),
      ]);
      expect(await nodesOf()).toEqual([]);
    });

    it('lets other resources go on while one is stuck', async () => {
      const stuck = gate();
      const getRefCount = storage.getRefCount.bind(storage);
      storage.getRefCount = async (id) =>
        id === 'stuck' ? stuck.passed.then(() => getRefCount(id)) : getRefCount(id);
      const waiting = pulled('a', 'stuck');
      await pulled('a', 'other');
      expect(await nodesOf('other')).toEqual(['a']);
      stuck.open();
      await waiting;
      expect(await nodesOf('stuck')).toEqual(['a']);
    });
  });

  describe('releasing', () => {
    it('releases one node of one resource and tells whether it was one', async () => {
      await Promise.all([pulled('a'), pulled('b')]);
      expect(await manager.releaseRef('layer', 'a')).toBe(true);
      expect(await manager.releaseRef('layer', 'a')).toBe(false);
      expect(await nodesOf()).toEqual(['b']);
      await manager.releaseRef('layer', 'b');
      expect(storage.calls.at(-1)).toBe('delete layer');
    });

    it('releases everything of a node and nothing of others', async () => {
      const layers = Array.from({ length: 600 }, (_, at) => `layer-${at}`);
      await Promise.all(layers.flatMap((layer) => [pulled('a', layer), pulled('b', layer)]));
      expect((await manager.releaseNodeRefs('a')).sort()).toEqual(layers.sort());
      expect(await storage.listByNode('a')).toEqual([]);
      expect(await storage.listByNode('b')).toHaveLength(600);
      expect(await manager.releaseNodeRefs('a')).toEqual([]);
    });

    it('says so when the storage cannot list by node', async () => {
      const { getRefCount, setRefCount, deleteRefCount } = new MemoryRefCountStorage();
      const without: RefCountStorage = { getRefCount, setRefCount, deleteRefCount };
      await expect(new RefCountManager(without).releaseNodeRefs('a')).rejects.toMatchObject({
        name: 'RefCountError',
        code: 'REFCOUNT_UNSUPPORTED',
        operation: 'releaseNodeRefs',
      });
    });

    it('waits for the rest when one release fails, and finishes when called again', async () => {
      await Promise.all([pulled('a', 'one'), pulled('a', 'two'), pulled('a', 'three')]);
      const deleteRefCount = storage.deleteRefCount.bind(storage);
      storage.deleteRefCount = async (id) =>
        id === 'one' ? Promise.reject(new Error('lost')) : deleteRefCount(id);
      await expect(manager.releaseNodeRefs('a')).rejects.toThrow('lost');
      expect(await storage.listByNode('a')).toEqual(['one']);
      storage.deleteRefCount = deleteRefCount;
      expect(await manager.releaseNodeRefs('a')).toEqual(['one']);
    });
  });

  describe('sharing a storage that adds and removes single nodes', () => {
    const shared = () => {
      const kept = new MemoryRefCountStorage();
      const nodesOf = async (id: string) => [...((await kept.getRefCount(id))?.nodes ?? [])];
      const save = (id: string, nodes: { nodeId: string }[]) =>
        kept.setRefCount(id, { count: nodes.length, nodes });
      return Object.assign(kept, {
        addNode: async (id: string, node: { nodeId: string }) => save(id, [...(await nodesOf(id)), node]),
        removeNode: async (id: string, nodeId: string) => {
          const nodes = await nodesOf(id);
          await save(
            id,
            nodes.filter((node) => node.nodeId !== nodeId),
          );
          return nodes.some((node) => node.nodeId === nodeId);
        },
      });
    };

    it('never replaces a count as a whole, which would undo what another manager does meanwhile', async () => {
      const storage = shared();
      const first = new RefCountManager(storage, { clock });
      const { addNode, removeNode, getRefCount } = storage;
      const only = { addNode, removeNode, getRefCount: getRefCount.bind(storage) } as RefCountStorage;
      const second = new RefCountManager(only, { clock });
      await first.updateRefCount('pull', 'layer', { nodeId: 'a', success: true });
      await second.updateRefCount('pull', 'layer', { nodeId: 'b', success: true });
      expect((await first.getRefCount('layer')).nodes).toEqual([
        { nodeId: 'a', sinceMs: 1000 },
        { nodeId: 'b', sinceMs: 1000 },
      ]);
      expect(await second.releaseRef('layer', 'a')).toBe(true);
      expect(await second.releaseRef('layer', 'a')).toBe(false);
      expect((await first.getRefCount('layer')).count).toBe(1);
    });
  });

  describe('when the storage fails', () => {
    const lost = new Error('connection lost');

    it('rejects with one error that names the operation and the cause', async () => {
      storage.getRefCount = () => {
        throw lost;
      };
      storage.listByNode = () => Promise.reject(lost);
      const failures: [string, Promise<unknown>][] = [
        ['getRefCount', manager.getRefCount('layer')],
        ['getRefCount', manager.shouldSkipOperation('pull', 'layer')],
        ['getRefCount', manager.canPerformOperation('delete', 'layer')],
        ['updateRefCount', pulled('a')],
        ['releaseRef', manager.releaseRef('layer', 'a')],
        ['releaseNodeRefs', manager.releaseNodeRefs('a')],
      ];
      for (const [operation, failure] of failures) {
        await expect(failure).rejects.toMatchObject({
          name: 'RefCountError',
          code: 'REFCOUNT_UNAVAILABLE',
          operation,
          cause: lost,
          message: `The reference-count storage failed in ${operation}: connection lost`,
        });
      }
    });

    it('passes on a RefCountError as it is', async () => {
      const unreadable = new RefCountError('REFCOUNT_UNREADABLE', 'open', 'not ours');
      storage.getRefCount = () => Promise.reject(unreadable);
      await expect(manager.getRefCount('layer')).rejects.toBe(unreadable);
    });

    it('serves the next call for that resource', async () => {
      const setRefCount = storage.setRefCount.bind(storage);
      storage.setRefCount = () => Promise.reject(lost);
      await expect(pulled('a')).rejects.toThrow('connection lost');
      storage.setRefCount = setRefCount;
      await pulled('b');
      expect(await nodesOf()).toEqual(['b']);
    });
  });
});
