// The content plugin beside containerd's own store: the same image from the same registry, in turns.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { register } from 'node:module';
import { ratio, table } from './support.mjs';

process.setMaxListeners(64); // one for each process that ends with this one

const MB = 1024 * 1024;
/** `ctr` looks ten times a second whether it is done, which is to be little beside the whole. */
const LAYER_MB = Number(process.env.BENCH_LAYER_MB ?? 600);
const BIG_LAYER_MB = Number(process.env.BENCH_BIG_LAYER_MB ?? 1024);
const SHORT_MB = 150;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);

register('./engines/typescript.mjs', import.meta.url);
const { Cluster } = await import('../test/support/containerd/cluster.ts');
const { ContainerdServer } = await import('../test/support/containerd/containerd-server.ts');
const { gzippedLayer, imageOf } = await import('../test/support/registry/image.ts');

/** What the image of a service written for Node has: Node, and packages. As registries keep them, gzipped. */
const NODE = () => gzippedLayer(tarOf(dirname(process.execPath), basename(process.execPath)));
const PACKAGES = () => gzippedLayer(tarOf('.', 'node_modules'));

function tarOf(directory, name) {
  const { status, stdout } = spawnSync('tar', ['-C', directory, '-c', name], { maxBuffer: 2048 * MB });
  if (status !== 0) throw new Error(`tar of ${name} failed`);
  return stdout;
}

const cluster = await Cluster.start({ nodes: 2 });
let builtIn;
try {
  const directory = join(cluster.directory, 'built-in');
  mkdirSync(directory);
  builtIn = await ContainerdServer.start(directory);
  const [one, two] = cluster.nodes;
  const stores = { 'built-in': builtIn, plugin: one.containerd };
  const random = await cluster.push([LAYER_MB * MB]);
  const { directRef } = random;
  const node = await cluster.publish(imageOf([NODE()]));
  const application = await cluster.publish(imageOf([NODE(), PACKAGES()]));
  const images = Object.entries({
    'one file of random bytes, not compressed': random,
    'Node, gzipped': node,
    'Node and packages, gzipped': application,
  });
  const rows = [];
  for (const [name, { directRef: ref, image }] of images) {
    const size = megabytes(image);
    const times = { 'built-in': { fetch: [], unpack: [] }, plugin: { fetch: [], unpack: [] } };
    for (let round = 0; round < ROUNDS; round++) {
      for (const [store, containerd] of Object.entries(stores)) {
        times[store].fetch.push(await timed(containerd, 'content', 'fetch', '--plain-http', ref));
        times[store].unpack.push(await timed(containerd, 'images', 'pull', '--plain-http', ref));
        await containerd.ctr('images', 'rm', '--sync', ref);
      }
    }
    // `ctr` looks ten times a second whether it is done: that says little about a fetch of a few of these looks.
    for (const what of size < SHORT_MB ? ['unpack'] : ['fetch', 'unpack']) {
      const [own, ours] = ['built-in', 'plugin'].map((store) => size / median(times[store][what]));
      const label = what === 'fetch' ? 'fetch' : 're-pull with unpack';
      rows.push([
        `${name}, ${size.toFixed(0)} MB: ${label}`,
        own.toFixed(0),
        ours.toFixed(0),
        ratio(ours / own),
      ]);
    }
  }
  table(`Images, median of ${ROUNDS}`, ['', 'built-in MB/s', 'plugin MB/s', 'ratio'], rows);

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

/** What went before has left nothing for the disk to do. */
async function timed(containerd, ...args) {
  spawnSync('sync');
  const begin = performance.now();
  await containerd.ctr(...args);
  return (performance.now() - begin) / 1000;
}

function megabytes({ layers }) {
  return layers.reduce((sum, { bytes }) => sum + bytes.length, 0) / MB;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
