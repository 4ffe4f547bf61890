import assert from 'node:assert/strict';
import { type ContractRunner, type Skip, skippable } from '../common/contract-runner.js';
import {
  assertNeither,
  attempt,
  countOf,
  expectListed,
  expectNodes,
  not,
  spoil,
  strangeNames,
} from './ref-count-storage.contract-support.js';
import { type RefCountStorage } from './ref-count-storage.interface.js';

/** A storage that nobody else uses, empty, and how to be done with it. */
export interface RefCountStorageFixture {
  readonly storage: RefCountStorage;
  /** Set if the storage does not keep `sinceMs`, as the port allows. */
  readonly forgetsSince?: boolean;
  /** Set if the storage says itself when a node came. */
  readonly keepsOwnTimes?: boolean;
  /** Set if names may have no control characters in them: the service lets none through. */
  readonly refusesControlCharacters?: boolean;
  /** How many nodes on one resource the storage is made for, if that is fewer than ten thousand. */
  readonly maxNodes?: number;
  /** Shuts the storage down and opens what it kept anew. Leave it out if nothing outlives the storage. */
  reopen?(): Promise<RefCountStorage>;
  /** Opens the same storage once more, as another process would. Leave it out if one process owns it. */
  another?(): Promise<RefCountStorage>;
  dispose?(): Promise<void>;
}

/** More than one process's worth of nodes: a whole cluster on one base layer. */
const MANY_NODES = 10_000;

/** Writers and changes of each, of one resource: enough for a lost update to show. */
const WRITERS = 4;
const CHANGES = 25;

const CHANGES_NO_SINGLE_NODES = 'the storage has no addNode and removeNode';

/** The longest names the service lets through. */
const LONGEST_RESOURCE_ID = 512;
const LONGEST_NODE_ID = 256;

/**
 * Proves that a `RefCountStorage` keeps the port's promises. Every test gets a fixture of its own from the factory.
 * A test that needs what the storage does not have is skipped. It cannot prove durability against a crash, nor speed.
 *
 * @example refCountStorageContract({ describe, it }, async () => ({ storage: new MyStorage() }));
 */
export function refCountStorageContract(
  runner: ContractRunner,
  factory: () => Promise<RefCountStorageFixture>,
): void {
  const it = (
    name: string,
    body: (storage: RefCountStorage, fixture: RefCountStorageFixture, skip: Skip) => Promise<void>,
  ) =>
    runner.it(
      name,
      skippable(async (skip) => {
        const fixture = await factory();
        try {
          await body(fixture.storage, fixture, skip);
        } finally {
          await fixture.dispose?.();
        }
      }),
    );

  runner.describe('RefCountStorage contract', () => {
    it('answers undefined for a resource nobody refers to', async (storage) => {
      assert.equal(await storage.getRefCount('unknown'), undefined);
    });

    it('gives back the nodes in the order in which they came', async (storage) => {
      await storage.setRefCount('layer', countOf('c', 'a', 'b'));
      await expectNodes(storage, 'layer', ['c', 'a', 'b']);
    });

    it('gives back when each node came, and nothing for a node without a time', async (storage, fixture, skip) => {
      if (fixture.keepsOwnTimes) return skip('the storage says itself when a node came');
      const nodes = [
        { nodeId: 'a', sinceMs: 1_767_225_600_123 },
        { nodeId: 'b' },
        { nodeId: 'c', sinceMs: 0 },
      ];
      await storage.setRefCount('layer', { count: 3, nodes });
      const times = (await storage.getRefCount('layer'))?.nodes.map((node) => node.sinceMs);
      assert.deepEqual(
        times,
        nodes.map((node) => (fixture.forgetsSince ? undefined : node.sinceMs)),
      );
    });

    it('replaces the whole count', async (storage) => {
      await storage.setRefCount('layer', countOf('a', 'b', 'c'));
      await storage.setRefCount('layer', countOf('d', 'b'));
      await expectNodes(storage, 'layer', ['d', 'b']);
    });

    it('deletes a count, and deletes it again without complaint', async (storage) => {
      await storage.setRefCount('layer', countOf('a'));
      await storage.deleteRefCount('layer');
      assert.equal(await storage.getRefCount('layer'), undefined);
      await storage.deleteRefCount('layer');
      await storage.deleteRefCount('never there');
      await storage.setRefCount('layer', countOf('b'));
      await expectNodes(storage, 'layer', ['b']);
    });

    it('keeps resources apart', async (storage) => {
      await storage.setRefCount('one', countOf('a'));
      await storage.setRefCount('two', countOf('b'));
      await storage.deleteRefCount('one');
      assert.equal(await storage.getRefCount('one'), undefined);
      await expectNodes(storage, 'two', ['b']);
    });

    it('takes changes of different resources at once', async (storage) => {
      const resources = Array.from({ length: 100 }, (_, at) => `layer-${at}`);
      await Promise.all(
        resources.map((resource) => storage.setRefCount(resource, countOf(`of ${resource}`))),
      );
      await Promise.all(resources.map((resource) => expectNodes(storage, resource, [`of ${resource}`])));
    });

    it('takes any name for a resource and for a node', async (storage, fixture) => {
      const names = strangeNames(fixture);
      for (const name of names) assert.equal(await storage.getRefCount(name), undefined, name);
      for (const name of names) await storage.setRefCount(name, countOf(name, ...names.filter(not(name))));
      for (const name of names) await expectNodes(storage, name, [name, ...names.filter(not(name))]);
    });

    it('takes the longest names and tells them apart to the last character', async (storage) => {
      for (const character of ['x', '层']) {
        const resource = character.repeat(LONGEST_RESOURCE_ID);
        const sibling = `${character.repeat(LONGEST_RESOURCE_ID - 1)}y`;
        const node = character.repeat(LONGEST_NODE_ID);
        await storage.setRefCount(resource, countOf(node, `${node.slice(1)}y`));
        await storage.setRefCount(sibling, countOf('another'));
        await expectNodes(storage, resource, [node, `${node.slice(1)}y`]);
      }
    });

    it('keeps many nodes on one resource', async (storage, { maxNodes = MANY_NODES }) => {
      const nodes = Array.from({ length: maxNodes }, (_, at) => `node-${at}`);
      await storage.setRefCount('base', countOf(...nodes));
      await expectNodes(storage, 'base', nodes);
    });

    it('is not changed through what was passed to it', async (storage) => {
      const nodes = [{ nodeId: 'a', sinceMs: 1 }];
      const passed = { count: 1, nodes };
      const done = storage.setRefCount('layer', passed);
      spoil(passed);
      await done;
      await expectNodes(storage, 'layer', ['a']);
      spoil(passed);
      await expectNodes(storage, 'layer', ['a']);
    });

    it('is not changed through what it handed out', async (storage) => {
      await storage.setRefCount('layer', countOf('a'));
      spoil(await storage.getRefCount('layer'));
      await expectNodes(storage, 'layer', ['a']);
      const listed = await storage.listByNode?.('a');
      if (listed) attempt(() => (listed as string[]).push('spoiled'));
      await expectListed(storage, 'a', ['layer']);
    });

    it('lists the resources of a node, if it lists at all', async (storage) => {
      await storage.setRefCount('one', countOf('a', 'b'));
      await storage.setRefCount('two', countOf('b'));
      await storage.setRefCount('__proto__', countOf('__proto__', 'b'));
      await expectListed(storage, 'a', ['one']);
      await expectListed(storage, 'b', ['__proto__', 'one', 'two']);
      await expectListed(storage, '__proto__', ['__proto__']);
      await expectListed(storage, 'constructor', []);
    });

    it('keeps the list of a node in step with replacing and deleting', async (storage) => {
      await storage.setRefCount('one', countOf('a', 'b'));
      await storage.setRefCount('two', countOf('a', 'b'));
      await storage.setRefCount('one', countOf('b', 'c'));
      await expectListed(storage, 'a', ['two']);
      await expectListed(storage, 'b', ['one', 'two']);
      await expectListed(storage, 'c', ['one']);
      await storage.deleteRefCount('two');
      await expectListed(storage, 'a', []);
      await expectListed(storage, 'b', ['one']);
    });

    it('adds and removes single nodes, if it can', async (storage) => {
      if (!storage.addNode || !storage.removeNode) return assertNeither(storage);
      await storage.addNode('layer', { nodeId: 'b', sinceMs: 1 });
      await storage.addNode('layer', { nodeId: 'a', sinceMs: 2 });
      const before = await storage.getRefCount('layer');
      await storage.addNode('layer', { nodeId: 'b', sinceMs: 3 });
      assert.deepEqual(await storage.getRefCount('layer'), before, 'nothing has changed');
      await expectNodes(storage, 'layer', ['b', 'a']);
      await expectListed(storage, 'a', ['layer']);
      assert.equal(await storage.removeNode('layer', 'b'), true);
      assert.equal(await storage.removeNode('layer', 'b'), false, 'b is gone already');
      await expectNodes(storage, 'layer', ['a']);
      assert.equal(await storage.removeNode('layer', 'a'), true);
      assert.equal(await storage.getRefCount('layer'), undefined);
      assert.equal(await storage.removeNode('never there', 'a'), false);
    });

    it('adds and removes after the count was set as a whole, if it can', async (storage, fixture, skip) => {
      if (!storage.addNode || !storage.removeNode) return skip(CHANGES_NO_SINGLE_NODES);
      await storage.setRefCount('layer', countOf('b', 'c'));
      await storage.addNode('layer', { nodeId: 'c' });
      await storage.addNode('layer', { nodeId: 'a' });
      await storage.removeNode('layer', 'b');
      await expectNodes(storage, 'layer', ['c', 'a']);
      for (const nodeId of strangeNames(fixture)) await storage.addNode('strange', { nodeId });
      await expectNodes(storage, 'strange', strangeNames(fixture));
    });

    it('loses no change of several writers at once, if it can be shared', async (storage, fixture, skip) => {
      const { addNode, removeNode } = storage;
      if (!addNode || !removeNode) return skip(CHANGES_NO_SINGLE_NODES);
      const writers = [storage];
      while (writers.length < WRITERS) writers.push((await fixture.another?.()) ?? storage);
      const names = (kind: string, at: number) =>
        Array.from({ length: CHANGES }, (_, n) => `${kind}-${at}-${n}`);
      for (const at of writers.keys())
        for (const nodeId of names('old', at)) await addNode.call(storage, 'layer', { nodeId });
      await Promise.all(
        writers.flatMap((writer, at) => [
          ...names('new', at).map((nodeId) => writer.addNode?.('layer', { nodeId })),
          ...names('old', at).map((nodeId) => writer.removeNode?.('layer', nodeId)),
        ]),
      );
      const kept = (await storage.getRefCount('layer'))?.nodes.map(({ nodeId }) => nodeId) ?? [];
      assert.deepEqual(kept.toSorted(), [...writers.keys()].flatMap((at) => names('new', at)).toSorted());
      await Promise.all(writers.map((writer) => writer.addNode?.('another', { nodeId: 'same' })));
      await expectNodes(storage, 'another', ['same']);
    });

    it('has everything again after reopening, if it outlives its process', async (storage, fixture, skip) => {
      if (!fixture.reopen) return skip('the fixture has no reopen');
      await storage.setRefCount('kept', countOf('b', 'a'));
      for (const name of strangeNames(fixture)) await storage.setRefCount(name, countOf(name));
      await storage.setRefCount('replaced', countOf('a', 'b'));
      await storage.setRefCount('replaced', countOf('c'));
      await storage.setRefCount('deleted', countOf('a'));
      await storage.deleteRefCount('deleted');
      const reopened = await fixture.reopen();
      await expectNodes(reopened, 'kept', ['b', 'a']);
      for (const name of strangeNames(fixture)) await expectNodes(reopened, name, [name]);
      await expectNodes(reopened, 'replaced', ['c']);
      assert.equal(await reopened.getRefCount('deleted'), undefined);
      await expectListed(reopened, 'a', ['kept']);
    });
  });
}
