import { EtcdCluster } from '../../support/engines/etcd-server.js';
import { RedisServer } from '../../support/engines/redis-server.js';
import { type Victim } from './victims.js';

/** An engine whose processes can be hurt. */
export interface Engine {
  readonly name: EngineName;
  readonly members: readonly Victim[];
  /** Of each member. */
  readonly ports: readonly number[];
  /** Where it is reached when these stand between. */
  urlThrough(ports: readonly number[]): string;
  destroy(): Promise<void>;
}

export type EngineName = 'etcd' | 'Redis';

export const ENGINES: Readonly<Record<EngineName, () => Promise<Engine>>> = { etcd, Redis: redis };

async function etcd(): Promise<Engine> {
  const cluster = await EtcdCluster.start(3);
  const numbers = [0, 1, 2];
  return {
    name: 'etcd',
    members: numbers.map((n) => ({
      name: `etcd member ${n}`,
      kill: () => cluster.stop(n, 'SIGKILL'),
      startAgain: () => cluster.run(n),
      signal: (signal) => cluster.signal(signal, n),
    })),
    ports: numbers.map((n) => cluster.port(n)),
    urlThrough: (ports) => `etcd://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
    destroy: () => cluster.destroy(),
  };
}

/** Every commit is on the disk before it is answered, so that none may be lost. */
async function redis(): Promise<Engine> {
  const server = await RedisServer.start(['--appendonly', 'yes', '--appendfsync', 'always']);
  const member: Victim = {
    name: 'Redis',
    kill: () => server.stop('SIGKILL'),
    startAgain: () => server.run(),
    signal: (signal) => server.signal(signal),
  };
  return {
    name: 'Redis',
    members: [member],
    ports: [server.port],
    urlThrough: ([port]) => `redis://127.0.0.1:${port}`,
    destroy: () => server.destroy(),
  };
}
