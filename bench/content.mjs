// Nodes that pull one image from a real registry (Debian's docker-registry) over a link they share: what reaches them, and how
// long it takes, with Holdfast and without. What counts as downloaded is what the registry has logged.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { register } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ratio, table, temporaryDirectory } from './support.mjs';

const BLOBS = 40;
const LAYER_BYTES = 1_000_000;

/** Slow enough for the link to be what takes the time, on two cores with everything on them. */
const BYTES_PER_SECOND = 16_000_000;
const NODES = 8;
const ROUNDS = 5;
const IMAGE = 'bench/image';

const pathOf = (path) => fileURLToPath(new URL(path, import.meta.url));
register('./engines/typescript.mjs', import.meta.url);
const support = (name) => import(`../test/support/${name}.ts`);
const { RegistryServer } = await support('registry/registry-server');
const { SharedLink } = await support('registry/shared-link');
const { blobsOf, makeImage } = await support('registry/image');
const { pushImage } = await support('registry/push-image');
const { freePorts } = await support('engines/free-ports');

const registry = await RegistryServer.start();
const link = await SharedLink.start(registry.port, BYTES_PER_SECOND);
const image = makeImage({ layerSizes: Array.from({ length: BLOBS - 1 }, () => LAYER_BYTES), seed: 1 });
await pushImage(registry.url, IMAGE, image);
const blobs = blobsOf(image).map(({ digest, bytes }) => ({ digest, size: bytes.length }));
const uniqueBytes = blobs.reduce((sum, { size }) => sum + size, 0);
const scratch = await temporaryDirectory();
const server = await startHoldfast();

async function startHoldfast() {
  const [port] = await freePorts(1);
  const env = { PORT: port, STORE_URL: `file:${scratch.path}/state`, LOCK_ISOLATION: 'resource' };
  const child = spawn(process.execPath, [pathOf('../dist/main.js')], {
    env: { ...process.env, LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout });
  await new Promise((resolve, reject) => {
    lines.on('line', (line) => line.includes('Holdfast listens') && resolve());
    child.once('exit', () => reject(new Error('the server did not start')));
  });
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill() };
}

async function startNodes(count, serverUrl) {
  const args = (n) => [`node-${n}`, ...(serverUrl ? [serverUrl] : [])];
  const nodes = Array.from({ length: count }, (_, n) => fork(pathOf('content/node.mjs'), args(n)));
  await Promise.all(nodes.map((node) => once(node, 'message')));
  return nodes;
}

let pulls = 0;

/** All nodes at once, each into the directory it is given; until the last is done. */
async function pull(nodes, directoryOf) {
  const name = `pull-${++pulls}`;
  await registry.forget();
  const begin = performance.now();
  const done = nodes.map((node, n) => {
    node.send({ blobs, blobsUrl: `${link.url}/v2/${IMAGE}/blobs`, directory: directoryOf(name, n) });
    return once(node, 'message');
  });
  await Promise.all(done);
  const seconds = (performance.now() - begin) / 1000;
  return { seconds, bytes: (await registry.accessLog()).blobBytes(IMAGE) };
}

/** Nobody uses anything any more: the next round begins with nothing. */
async function releaseAll() {
  for (let n = 0; n < NODES; n++) {
    await fetch(`${server.url}/refcounts/release-node`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ node_id: `node-${n}` }),
    });
  }
}

/** Turn by turn, so that what else the machine does meets all of them; the median of each by time, after one to warm up. */
async function measure(groups, rounds) {
  const started = [];
  for (const { count, isCoordinated } of groups) {
    const nodes = await startNodes(count, isCoordinated ? server.url : undefined);
    const directoryOf = (name, n) => join(scratch.path, name, isCoordinated ? 'shared' : String(n));
    started.push({ nodes, directoryOf, results: [] });
  }
  for (let round = 0; round <= rounds; round++) {
    for (const { nodes, directoryOf, results } of started) {
      results.push(await pull(nodes, directoryOf));
      await releaseAll();
    }
  }
  for (const node of started.flatMap(({ nodes }) => nodes)) node.disconnect();
  return started.map(
    ({ results }) => results.slice(1).toSorted((a, b) => a.seconds - b.seconds)[rounds >> 1],
  );
}

const [bare, one, eight] = await measure(
  [
    { count: 1, isCoordinated: false },
    { count: 1, isCoordinated: true },
    { count: NODES, isCoordinated: true },
  ],
  ROUNDS,
);
const [uncoordinated] = await measure([{ count: NODES, isCoordinated: false }], 1);

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
const row = (title, { seconds, bytes }) => [
  title,
  megabytes(bytes),
  ratio(bytes / uniqueBytes),
  seconds.toFixed(2),
  ratio(seconds / one.seconds),
];
table(
  `An image of ${BLOBS} blobs, ${megabytes(uniqueBytes)} MB, over a link of ${BYTES_PER_SECOND / 1e6} MB/s that all share`,
  ['', 'MB from the registry', 'of unique bytes', 'seconds', 'of one node'],
  [
    row('one node, no locks', bare),
    row('one node', one),
    row(`${NODES} nodes`, eight),
    row(`${NODES} nodes, no locks, a directory each`, uncoordinated),
  ],
);
console.log('\nGoal: 1.00 of the unique bytes from the registry, and at most 1.15 of the time of one node.');

server.stop();
link.close();
await registry.destroy();
await scratch.remove();
process.exit();
