import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentStore } from '../../src/content/index.js';
import { blobsOf } from '../support/registry/image.js';
import { until } from '../support/server-bootstrap.js';
import { seeded } from '../support/random.js';
import { type NodeProcess } from './node-process.js';
import { IMAGE, World, WORLD_TIMEOUT_MS } from './world.js';

const RACES = 20;
const NODE_IDS = Array.from({ length: 8 }, (_, n) => `node-${n + 1}`);
const SEED = 6;

/** The configuration is the fortieth blob. */
const random = seeded(SEED);
const layerSizes = Array.from({ length: 39 }, () => 10_000 + Math.floor(random() * 90_000));

describe('eight node processes and one image of forty blobs in one shared directory', () => {
  let world: World;
  let nodes: NodeProcess[];

  beforeAll(async () => {
    world = await World.start({ layerSizes, seed: SEED });
    nodes = await world.startNodes(NODE_IDS);
  }, WORLD_TIMEOUT_MS);

  afterAll(() => world.destroy());

  it.each(Array.from({ length: RACES }, (_, n) => n + 1))(
    'race %i: every blob is fetched once, every node has all of them and is counted, and all can be deleted',
    async () => {
      const { items, registry } = world;
      await registry.forget();

      const outcomes = await Promise.all(nodes.map((node) => node.pull(items)));
      const log = await registry.accessLog();
      const fetches = log.fetchesByDigest(IMAGE);
      for (const { digest } of items) {
        const told = outcomes.map((outcome) => outcome[digest]).toSorted();
        expect(told).toEqual([...Array.from({ length: nodes.length - 1 }, () => 'skip'), 'yours']);
        expect(fetches.get(digest)).toBe(1);
      }
      expect(await world.users()).toEqual(items.map(() => NODE_IDS));
      expect(world.files('blobs')).toHaveLength(items.length);
      expect(world.files('ingest')).toEqual([]);

      const [first, ...others] = nodes;
      await Promise.all(others.map((node) => node.release(items)));
      const refused = await others[0]!.delete(items);
      expect(new Set(Object.values(refused))).toEqual(new Set(['IN_USE']));
      await first!.release(items);
      const deletes = await Promise.all(nodes.map((node) => node.delete(items)));
      for (const { digest } of items) {
        expect(deletes.map((outcome) => outcome[digest])).toContain('deleted');
      }
      expect(await world.users()).toEqual(items.map(() => []));
      for (const folder of ['blobs', 'ingest', 'trash']) expect(world.files(folder)).toEqual([]);
    },
  );

  it('who is let in looks again: what a holder has left before it died is not fetched', async () => {
    const { items, registry, server } = world;
    await registry.forget();
    const dying = { node_id: 'dying', type: 'pull' };
    const keys = items.map(({ digest }) => ({ ...dying, resource_id: digest }));
    await server.post('/lock/batch', { requests: keys });
    const pulls = nodes.map((node) => node.pull(items));
    await until(async () => {
      const { body } = await server.get('/locks');
      const locks = body['locks'] as { queue_length: number }[];
      return locks.length === items.length && locks.every((lock) => lock.queue_length === nodes.length);
    });

    const store = await ContentStore.open(world.directory);
    for (const { digest, bytes } of blobsOf(world.image)) {
      const ingest = await store.begin({ ref: digest, nodeId: 'dying', token: 0, digest });
      await ingest.write(bytes);
      await store.publish(ingest, false, async () => undefined);
    }
    await server.post('/unlock/batch', { requests: keys.map((key) => ({ ...key, error: 'died' })) });

    for (const outcomes of await Promise.all(pulls)) {
      expect(new Set(Object.values(outcomes))).toEqual(new Set(['skip']));
    }
    expect((await registry.accessLog()).blobFetches(IMAGE)).toEqual([]);
    expect(await world.users()).toEqual(items.map(() => NODE_IDS));
  });
});
