// A private Redis and a private etcd, each with a count of what it has written.
import { register } from 'node:module';

register('./typescript.mjs', import.meta.url);
const support = (name) => import(`../../test/support/engines/${name}.ts`);
const { installEngines } = await support('engine-binary');
const { RedisServer } = await support('redis-server');
const { EtcdCluster } = await support('etcd-server');
const { freePorts } = await support('free-ports');

export { freePorts, installEngines };

/** With a log on disk, synced every second: Redis's own default for one that keeps anything. */
async function startRedis() {
  const server = await RedisServer.start(['--appendonly', 'yes']);
  const stats = async () => {
    const text = String(await server.command('INFO', 'commandstats'));
    const calls = (name) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(text)?.[1] ?? 0);
    const feed = await server.command('XRANGE', '{holdfast/p0}/feed', '-', '+');
    // An entry of the feed has two fields for the revision before it, and two for each item that was written.
    const items = feed.reduce((sum, [, fields]) => sum + (fields.length - 2) / 2, 0);
    return { commits: calls('xadd'), items, asked: calls('evalsha') };
  };
  const cpuSeconds = async () => {
    const text = String(await server.command('INFO', 'cpu'));
    return Array.from(text.matchAll(/used_cpu_(?:sys|user):(\S+)/g)).reduce(
      (sum, [, at]) => sum + Number(at),
      0,
    );
  };
  const { url, port } = server;
  return { name: 'Redis', url, port, stats, cpuSeconds, destroy: () => server.destroy() };
}

async function startEtcd() {
  const cluster = await EtcdCluster.start();
  const port = cluster.port();
  const ask = async (path, options) => (await fetch(`http://127.0.0.1:${port}${path}`, options)).text();
  const stats = async () => {
    const { header } = JSON.parse(await ask('/v3/kv/range', { method: 'POST', body: '{"key":"AA=="}' }));
    const metrics = await ask('/metrics');
    const count = (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1] ?? 0);
    // A transaction that has written anything is one revision.
    return {
      commits: Number(header.revision),
      items: count('etcd_mvcc_put_total') + count('etcd_mvcc_delete_total'),
      asked: count('grpc_server_handled_total\\{grpc_code="OK",grpc_method="Txn",[^}]*\\}'),
    };
  };
  const cpuSeconds = () => cpuSecondsOf(`http://127.0.0.1:${port}`);
  return { name: 'etcd', url: cluster.url, port, stats, cpuSeconds, destroy: () => cluster.destroy() };
}

/** Of any process that serves metrics as Prometheus likes them. */
export async function cpuSecondsOf(url) {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(metrics)[1]);
}

export const ENGINES = [startRedis, startEtcd];

/** What was counted between two moments. */
export function difference(before, after) {
  return Object.fromEntries(Object.keys(after).map((name) => [name, after[name] - before[name]]));
}
