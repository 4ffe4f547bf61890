import { afterEach, describe, expect, it } from 'vitest';
import { type ChurnReport } from './programs/messages.js';
import { IMAGE, World } from './world.js';

const NODE_IDS = Array.from({ length: 8 }, (_, n) => `node-${n + 1}`);
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

/** Few and small: nodes are to meet. */
const layerSizes = [10_000, 20_000, 30_000, 50_000, 80_000];

const MINUTE = 60_000;
const PAUSED_CHURN_MS = 30_000;

/** Of nodes that are stopped. */
const SESSION_MS = 1000;

/** Time to start, to let go, and to clear up. */
const TIMEOUT_MS = MINUTE + 60_000;

/** What happens when all goes well. */
const NORMAL = ['IN_USE', 'absent', 'deleted', 'skip', 'verified', 'yours'];

/** Of a node that was overtaken while it was stopped. */
const OVERTAKEN = ['HOLD_LOST', 'SESSION_NOT_FOUND', 'STALE'];

describe('pulls against deletes at random', () => {
  let world: World;

  afterEach(() => world.destroy());

  async function churn(milliseconds: number): Promise<{ all: ChurnReport[]; total: Map<string, number> }> {
    const { items, nodes } = world;
    const runs = nodes.map((node, n) => node.churn({ items, milliseconds, seed: SEED + n, atOnce: 2 }));
    const all = await Promise.all(runs);
    const total = new Map<string, number>();
    for (const [what, count] of all.flatMap(({ counts }) => Object.entries(counts))) {
      total.set(what, (total.get(what) ?? 0) + count);
    }
    console.log(`seed ${SEED}:`, Object.fromEntries(total));
    return { all, total };
  }

  it(
    `for a minute: who was told "yours" or "skip" finds the bytes until it lets go (SEED=${SEED})`,
    async () => {
      world = await World.start({ layerSizes, seed: 8 });
      const nodes = await world.startNodes(NODE_IDS);
      await world.registry.forget();
      const { all, total } = await churn(MINUTE);

      expect(all.flatMap(({ violations }) => violations)).toEqual([]);
      expect([...total.keys()].toSorted()).toEqual(NORMAL);
      for (const count of total.values()) expect(count).toBeGreaterThan(nodes.length);
      const fetches = (await world.registry.accessLog()).blobFetches(IMAGE);
      expect(fetches).toHaveLength(total.get('yours')!);
      expect(world.files('blobs')).toHaveLength(total.get('yours')! - total.get('deleted')!);

      await Promise.all(nodes.map((node) => node.delete(world.items)));
      for (const folder of ['blobs', 'ingest', 'trash']) expect(world.files(folder)).toEqual([]);
      expect(await world.users()).toEqual(world.items.map(() => []));
    },
    TIMEOUT_MS,
  );

  it(
    `also when nodes stop in the middle of a delete, for longer than their sessions live (SEED=${SEED})`,
    async () => {
      world = await World.start({ layerSizes, seed: 9 });
      await world.startNodes(NODE_IDS, world.registry, SESSION_MS, 0.4);
      const { all, total } = await churn(PAUSED_CHURN_MS);

      expect(all.flatMap(({ violations }) => violations)).toEqual([]);
      expect([...NORMAL, ...OVERTAKEN]).toEqual(expect.arrayContaining([...total.keys()]));
      for (const what of NORMAL) expect(total.get(what)).toBeGreaterThan(0);
      expect(OVERTAKEN.reduce((sum, code) => sum + (total.get(code) ?? 0), 0)).toBeGreaterThan(0);

      const [steady] = await world.startNodes(['steady']);
      await steady!.sweep({ leftAfterMs: 0 });
      for (const folder of ['blobs', 'ingest', 'trash']) expect(world.files(folder)).toEqual([]);
      expect(await world.users()).toEqual(world.items.map(() => []));
    },
    TIMEOUT_MS,
  );
});
