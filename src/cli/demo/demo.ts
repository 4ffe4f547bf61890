import { type BoardMaker } from './board.js';
import { DemoNode, type Scene } from './demo-node.js';
import { image, type Layer } from './image.js';
import { Ledger } from './ledger.js';

const NODES = 8;
const LAYERS = 40;

/** A fast line: 150 MB/s for each download. */
const BYTES_PER_MS = 150_000;

/** Long enough for a busy machine, short enough to watch a crash being noticed. */
const SESSION_TTL_MS = 1500;
const FAST_SPEED_UP = 10;

/** Chosen so that both happen while there is much to do. */
const CRASH_IN_LAYER = 5;
const FAILURE_IN_LAYER = 17;

export interface DemoResult {
  readonly nodes: readonly Pick<DemoNode, 'name' | 'isDead'>[];
  readonly image: readonly Layer[];
  readonly ledger: Ledger;
  /** How many layers each node has, as the server counts them. */
  readonly references: ReadonlyMap<string, number>;
  readonly seconds: number;
}

/** Nodes that pull one image through a server of their own, with mishaps. */
export async function demo(isFast: boolean, boardFor: BoardMaker): Promise<DemoResult> {
  const { serveInMemory } = await import('../../serve.js');
  const server = await serveInMemory(SESSION_TTL_MS);
  const layers = image(LAYERS);
  const ledger = new Ledger();
  const news = (what: string) => board.tell(what);
  const nodes = nodesOf({
    serverUrl: server.url,
    image: layers,
    ledger,
    mishaps: { crashing: layers[CRASH_IN_LAYER - 1], failing: layers[FAILURE_IN_LAYER - 1] },
    bytesPerMs: BYTES_PER_MS * (isFast ? FAST_SPEED_UP : 1),
    tell: news,
  });
  const board = boardFor({ nodes, image: layers, ledger, serverUrl: server.url });
  try {
    const startedMs = performance.now();
    await Promise.all(nodes.map((node) => node.pullImage()));
    const seconds = (performance.now() - startedMs) / 1000;
    return { nodes, image: layers, ledger, references: await referencesTo(layers, nodes), seconds };
  } finally {
    board.end();
    await Promise.all(nodes.map(({ client }) => client.close()));
    await server.close();
  }
}

function nodesOf(scene: Scene): readonly DemoNode[] {
  return Array.from({ length: NODES }, (_, index) => new DemoNode(`node-${index + 1}`, scene));
}

async function referencesTo(
  layers: readonly Layer[],
  nodes: readonly DemoNode[],
): Promise<ReadonlyMap<string, number>> {
  const { client } = nodes.find((node) => !node.isDead)!;
  const counts = new Map<string, number>();
  for (const { nodes: users } of await Promise.all(layers.map(({ digest }) => client.refs.get(digest))))
    for (const { nodeId } of users) counts.set(nodeId, (counts.get(nodeId) ?? 0) + 1);
  return counts;
}
