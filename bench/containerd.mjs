// The content plugin beside containerd's own store: the same image from the same registry, in turns.
import { join } from 'node:path';
import { mkdirSync } from 'node:fs';
import { register } from 'node:module';
import { ratio, table } from './support.mjs';

process.setMaxListeners(64); // one for each process that ends with this one

const MB = 1024 * 1024;
const LAYER_MB = Number(process.env.BENCH_LAYER_MB ?? 200);
const BIG_LAYER_MB = Number(process.env.BENCH_BIG_LAYER_MB ?? 1024);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);

register('./engines/typescript.mjs', import.meta.url);
const { Cluster } = await import('../test/support/containerd/cluster.ts');
const { ContainerdServer } = await import('../test/support/containerd/containerd-server.ts');

const cluster = await Cluster.start({ nodes: 2 });
let builtIn;
try {
  const directory = join(cluster.directory, 'built-in');
  mkdirSync(directory);
  builtIn = await ContainerdServer.start(directory);
  const [one, two] = cluster.nodes;
  const stores = { 'built-in': builtIn, plugin: one.containerd };
  const { directRef } = await cluster.push([LAYER_MB * MB]);
  const times = { 'built-in': { fetch: [], unpack: [] }, plugin: { fetch: [], unpack: [] } };
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, containerd] of Object.entries(stores)) {
      times[name].fetch.push(await timed(containerd, 'content', 'fetch', '--plain-http', directRef));
      times[name].unpack.push(await timed(containerd, 'images', 'pull', '--plain-http', directRef));
      await containerd.ctr('images', 'rm', '--sync', directRef);
    }
  }
  const speed = (seconds) => LAYER_MB / median(seconds);
  const rows = ['fetch', 'unpack'].map((what) => {
    const [own, ours] = ['built-in', 'plugin'].map((name) => speed(times[name][what]));
    return [
      what === 'fetch' ? 'fetch' : 're-pull with unpack',
      own.toFixed(0),
      ours.toFixed(0),
      ratio(ours / own),
    ];
  });
  table(
    `One layer of ${LAYER_MB} MB, median of ${ROUNDS}`,
    ['', 'built-in MB/s', 'plugin MB/s', 'ratio'],
    rows,
  );

  const alone = [];
  const both = [];
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await timed(one.containerd, 'content', 'fetch', '--plain-http', directRef));
    await one.containerd.ctr('images', 'rm', '--sync', directRef);
    const begin = performance.now();
    await Promise.all(
      [one, two].map((node) => timed(node.containerd, 'content', 'fetch', '--plain-http', directRef)),
    );
    both.push((performance.now() - begin) / 1000);
    await Promise.all([one, two].map((node) => node.containerd.ctr('images', 'rm', '--sync', directRef)));
  }
  const pair = [median(alone), median(both)];
  table(
    'Two nodes pull it at once, beside one alone',
    ['one, s', 'two, s', 'ratio'],
    [[...pair.map((seconds) => seconds.toFixed(2)), ratio(pair[1] / pair[0])]],
  );

  const big = await cluster.push([BIG_LAYER_MB * MB]);
  await timed(one.containerd, 'content', 'fetch', '--plain-http', big.directRef);
  await timed(one.containerd, 'images', 'pull', '--plain-http', big.directRef);
  const { most } = one.plugin.residentMb;
  table('Memory', ['layer', "the plugin's RSS at most, MB"], [[`${BIG_LAYER_MB} MB`, most.toFixed(0)]]);
} finally {
  await builtIn?.stop();
  await cluster.destroy();
}

async function timed(containerd, ...args) {
  const begin = performance.now();
  await containerd.ctr(...args);
  return (performance.now() - begin) / 1000;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
