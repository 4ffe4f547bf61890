import { setTimeout as delay } from 'node:timers/promises';
import { RedisServer } from './redis-server.js';

const SLOTS = 16_384;
const POLL_MS = 50;

/** Short, so that a failover is; a busy machine must not look like a dead one. */
const NODE_TIMEOUT_MS = 2000;

/** A private Redis Cluster: primaries with the slots shared out evenly, each with as many replicas as asked for. */
export class RedisClusterServers {
  private constructor(
    readonly primaries: readonly RedisServer[],
    readonly replicas: readonly RedisServer[],
  ) {}

  static async start(size: number, withReplicas = false): Promise<RedisClusterServers> {
    const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', `${NODE_TIMEOUT_MS}`];
    args.push('--repl-diskless-sync-delay', '0');
    const startOne = () => RedisServer.start(args);
    const primaries = await Promise.all(Array.from({ length: size }, startOne));
    const replicas = await Promise.all(withReplicas ? primaries.map(startOne) : []);
    const cluster = new RedisClusterServers(primaries, replicas);
    await cluster.join();
    return cluster;
  }

  get url(): string {
    return `redis+cluster://${this.primaries.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  }

  get all(): readonly RedisServer[] {
    return [...this.primaries, ...this.replicas];
  }

  async destroy(): Promise<void> {
    await Promise.all(this.all.map((server) => server.destroy()));
  }

  /** Which of the primaries had this slot at the start. */
  ownerOf(slot: number): number {
    return Math.floor((slot * this.primaries.length) / SLOTS);
  }

  private async join(): Promise<void> {
    const slots = Array.from({ length: SLOTS }, (_, slot) => slot);
    for (const [n, server] of this.primaries.entries()) {
      const share = slots.filter((slot) => this.ownerOf(slot) === n);
      await server.command('CLUSTER', 'ADDSLOTS', ...share);
      await server.command('CLUSTER', 'SET-CONFIG-EPOCH', n + 1);
    }
    const [first, ...others] = this.all;
    for (const { port } of others) await first!.command('CLUSTER', 'MEET', '127.0.0.1', port);
    await this.until((info) => info.includes(`cluster_known_nodes:${this.all.length}\r`));
    for (const [n, replica] of this.replicas.entries()) {
      const id = await this.primaries[n]!.command('CLUSTER', 'MYID');
      await replica.command('CLUSTER', 'REPLICATE', String(id));
    }
    await this.until((info) => info.includes('cluster_state:ok'));
    for (const replica of this.replicas) await isInStep(replica);
  }

  private async until(holds: (info: string) => boolean): Promise<void> {
    for (const server of this.all) {
      while (!holds(String(await server.command('CLUSTER', 'INFO')))) await delay(POLL_MS);
    }
  }
}

async function isInStep(replica: RedisServer): Promise<void> {
  while (!String(await replica.command('INFO', 'replication')).includes('master_link_status:up')) {
    await delay(POLL_MS);
  }
}
