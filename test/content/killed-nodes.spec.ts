import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pick, seeded, shuffled } from '../support/random.js';
import { SharedLink } from '../support/registry/shared-link.js';
import { until } from '../support/server-bootstrap.js';
import { type NodeProcess } from './node-process.js';
import { IMAGE, SHORT_SESSION_MS, World, WORLD_TIMEOUT_MS } from './world.js';

const NODE_IDS = Array.from({ length: 8 }, (_, n) => `node-${n + 1}`);
const ROUNDS = 3;

/** Each node has a few downloads under way, so that several nodes do. */
const AT_ONCE = 4;

/** The image takes about a second and a half. */
const BYTES_PER_SECOND = 2_000_000;
const layerSizes = Array.from({ length: 39 }, (_, n) => 40_000 + 2000 * n);

describe('two of eight nodes killed in the middle of their downloads', () => {
  let world: World;
  let link: SharedLink;
  let nodes: NodeProcess[];

  beforeAll(async () => {
    world = await World.start({ layerSizes, seed: 7 });
    link = await SharedLink.start(world.registry.port, BYTES_PER_SECOND);
    nodes = await world.startNodes(NODE_IDS, link, SHORT_SESSION_MS);
  }, WORLD_TIMEOUT_MS);

  afterAll(async () => {
    await world.destroy();
    link.close();
  });

  it.each(Array.from({ length: ROUNDS }, (_, n) => n + 1))(
    'seed %i: the others take over; only what was under way is fetched once more',
    async (seed) => {
      const random = seeded(seed);
      const { items, registry } = world;
      await registry.forget();
      const killAt = link.bytes + 0.8 * random() * items.reduce((sum, { size }) => sum + size, 0);

      const pulls = nodes.map((node) => node.pull(shuffled(random, items), AT_ONCE));
      const settled = Promise.allSettled(pulls);
      await until(async () => link.bytes > killAt && downloading(nodes).length >= 2);
      const first = pick(random, downloading(nodes));
      const second = pick(
        random,
        downloading(nodes).filter((node) => node !== first),
      );
      await Promise.all([first.kill(), second.kill()]);
      const survivors = nodes.filter((node) => node !== first && node !== second);

      const results = await settled;
      expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(2);
      const fetches = (await registry.accessLog()).fetchesByDigest(IMAGE);
      const users = await world.users();
      for (const [n, { digest }] of items.entries()) {
        const cutShort = [first, second].filter(({ inFlight }) => inFlight.has(digest)).length;
        expect(fetches.get(digest)).toBeGreaterThanOrEqual(1);
        expect(fetches.get(digest)).toBeLessThanOrEqual(1 + cutShort);
        expect(users[n]).toEqual(expect.arrayContaining(survivors.map((node) => node.nodeId)));
      }
      expect(world.files('blobs')).toHaveLength(items.length);

      await registry.forget();
      const back = await world.startNodes([first.nodeId, second.nodeId], link, SHORT_SESSION_MS);
      for (const outcomes of await Promise.all(back.map((node) => node.pull(items)))) {
        expect(new Set(Object.values(outcomes))).toEqual(new Set(['skip']));
      }
      expect((await registry.accessLog()).blobFetches(IMAGE)).toEqual([]);

      nodes = [...survivors, ...back];
      await Promise.all(nodes.map((node) => node.release(items)));
      await nodes[0]!.sweep({ leftAfterMs: 0 });
      for (const folder of ['blobs', 'ingest', 'trash']) expect(world.files(folder)).toEqual([]);
      expect(await world.users()).toEqual(items.map(() => []));
    },
  );
});

function downloading(nodes: readonly NodeProcess[]): NodeProcess[] {
  return nodes.filter(({ inFlight }) => inFlight.size > 0);
}
