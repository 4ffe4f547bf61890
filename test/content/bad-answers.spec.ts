import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Fault, FaultyRegistry } from '../support/registry/faulty-registry.js';
import { until } from '../support/server-bootstrap.js';
import { type NodeProcess } from './node-process.js';
import { type Item } from './programs/messages.js';
import { World, WORLD_TIMEOUT_MS } from './world.js';

const NODE_IDS = ['node-1', 'node-2', 'node-3', 'node-4'];

/** As often as a node of these tests asks the registry, before it gives up. */
const TRIES = 4;

describe('four nodes and a registry that answers badly', () => {
  let world: World;
  let registry: FaultyRegistry;
  let nodes: NodeProcess[];
  let rest: Item[];
  let item: Item;

  beforeAll(async () => {
    const layerSizes = Array.from({ length: 9 }, () => 100_000);
    world = await World.start({ layerSizes, seed: 10 });
    registry = await FaultyRegistry.start(world.registry.url);
    nodes = await world.startNodes(NODE_IDS, registry);
    rest = world.items.slice(1);
  }, WORLD_TIMEOUT_MS);

  /** Every test has a blob of its own. */
  beforeEach(() => (item = rest.shift()!));

  afterAll(async () => {
    registry.close();
    await world.destroy();
  });

  /** What the nodes are told when all want the blob and the registry answers like this, the first time when all have asked. */
  async function outcomesOf(...faults: (Fault | undefined)[]): Promise<string[]> {
    registry.faultOf = async (_, n) => {
      if (n === 1) await until(async () => (await queueLength()) === nodes.length - 1);
      return faults[n - 1];
    };
    const outcomes = await Promise.all(nodes.map((node) => node.pull([item])));
    return outcomes.map((outcome) => outcome[item.digest]!).toSorted();
  }

  async function queueLength(): Promise<unknown> {
    const path = `/lock/status?type=pull&resource_id=${encodeURIComponent(item.digest)}`;
    return (await world.server.get(path)).body['queue_length'];
  }

  const isThere = () => world.files('blobs').includes(item.digest.replace('sha256:', ''));
  const answered = (status: number) =>
    `${registry.url}/v2/team/demo/blobs/${item.digest} was answered with ${status}`;
  const failedForAll = ['OPERATION_FAILED', 'OPERATION_FAILED', 'OPERATION_FAILED'];

  it('404: one asks, all are sent away, and nobody asks again', async () => {
    expect(await outcomesOf({ status: 404 })).toEqual([...failedForAll, answered(404)]);
    expect(registry.of(item.digest)).toHaveLength(1);
    expect(isThere()).toBe(false);
  });

  it('wrong bytes: they are not kept, all are sent away, and a later pull begins anew', async () => {
    expect(await outcomesOf({ wrongByteAt: 50_000 })).toEqual(['DIGEST_MISMATCH', ...failedForAll]);
    expect(registry.of(item.digest)).toHaveLength(1);
    expect(isThere()).toBe(false);
    expect(world.files('ingest')).toEqual([]);

    expect(await nodes[0]!.pull([item])).toEqual({ [item.digest]: 'yours' });
    expect(registry.of(item.digest).map(({ range }) => range)).toEqual([undefined, undefined]);
  });

  it('429: the same node asks again when the registry said it may', async () => {
    const busy = { status: 429, headers: { 'retry-after': '1' } };
    expect(await outcomesOf(busy)).toEqual(['skip', 'skip', 'skip', 'yours']);
    const [first, second, ...more] = registry.of(item.digest);
    expect(second!.atMs - first!.atMs).toBeGreaterThan(990);
    expect(more).toEqual([]);
  });

  it('503 again and again: the next node takes over', async () => {
    const down = Array.from({ length: TRIES }, () => ({ status: 503 }));
    expect(await outcomesOf(...down)).toEqual([answered(503), 'skip', 'skip', 'yours']);
    expect(registry.of(item.digest)).toHaveLength(TRIES + 1);
  });

  it('a connection cut in the middle: the same node goes on from there', async () => {
    expect(await outcomesOf({ cutAfter: 60_000 })).toEqual(['skip', 'skip', 'skip', 'yours']);
    const [, resumed, ...more] = registry.of(item.digest);
    const from = Number(/^bytes=(\d+)-$/.exec(resumed!.range!)![1]);
    expect(from).toBeGreaterThan(0);
    expect(from).toBeLessThanOrEqual(60_000);
    expect(more).toEqual([]);
  });

  it('connections cut again and again: the next node takes over, with its own bytes from the beginning', async () => {
    const cuts = Array.from({ length: TRIES }, () => ({ cutAfter: 10_000 }));
    const outcomes = await outcomesOf(...cuts);
    expect(outcomes).toEqual(['skip', 'skip', expect.stringContaining('broke off'), 'yours']);
    expect(registry.of(item.digest)).toHaveLength(TRIES + 1);
    expect(registry.of(item.digest).at(-1)!.range).toBeUndefined();
  });

  it.each([
    ['short', 7, 'TOO_SHORT'],
    ['long', -7, 'TOO_LONG'],
  ])('a body that is too %s: nothing is published, the next node takes over', async (_, missing, code) => {
    expect(await outcomesOf({ missing })).toEqual([code, 'skip', 'skip', 'yours']);
    expect(registry.of(item.digest)).toHaveLength(2);
    expect(isThere()).toBe(true);
  });

  it('404 for one blob of an image leaves the others alone', async () => {
    const others = world.items.filter(
      ({ digest }) => registry.of(digest).length === 0 && digest !== item.digest,
    );
    registry.faultOf = (digest) => (digest === item.digest ? { status: 404 } : undefined);
    const outcomes = await nodes[0]!.pull([item, ...others]);
    expect(outcomes[item.digest]).toBe(answered(404));
    for (const { digest } of others) expect(outcomes[digest]).toBe('yours');
  });
});
