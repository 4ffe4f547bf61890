import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { engineBinary } from './engine-binary.js';
import { EngineProcess } from './engine-process.js';
import { freePorts } from './free-ports.js';

interface Member {
  readonly name: string;
  readonly clientPort: number;
  readonly peerPort: number;
}

/** A private etcd of one or several members on free ports of the loopback, with a directory of its own. */
export class EtcdCluster {
  private readonly directory = mkdtempSync(join(tmpdir(), 'holdfast-etcd-'));
  private readonly processes: EngineProcess[] = [];

  private constructor(
    private readonly members: readonly Member[],
    private readonly args: readonly string[],
  ) {}

  /** `args` as on the command line: `['--max-txn-ops=1024']`; `PORT` in them is the port of the member. */
  static async start(size = 1, args: readonly string[] = []): Promise<EtcdCluster> {
    const ports = await freePorts(2 * size);
    const members = Array.from({ length: size }, (_, n) => ({
      name: `m${n}`,
      clientPort: ports[2 * n]!,
      peerPort: ports[2 * n + 1]!,
    }));
    const cluster = new EtcdCluster(members, args);
    await Promise.all(members.map((_, n) => cluster.run(n)));
    return cluster;
  }

  get url(): string {
    return `etcd://${this.members.map(({ clientPort }) => `127.0.0.1:${clientPort}`).join(',')}`;
  }

  port(member = 0): number {
    return this.members[member]!.clientPort;
  }

  signal(signal: NodeJS.Signals, member = 0): void {
    this.processes[member]!.signal(signal);
  }

  stop(member = 0, signal?: NodeJS.Signals): Promise<void> {
    return this.processes[member]!.stop(signal);
  }

  /** On the same ports, with what is in the directory. */
  async run(n = 0): Promise<void> {
    const { name, clientPort, peerPort } = this.members[n]!;
    const client = `http://127.0.0.1:${clientPort}`;
    const peer = `http://127.0.0.1:${peerPort}`;
    const all = this.members.map((member) => `${member.name}=http://127.0.0.1:${member.peerPort}`);
    this.processes[n] = await EngineProcess.start(
      engineBinary('etcd'),
      [
        `--name=${name}`,
        `--data-dir=${this.dataDirectory(n)}`,
        `--listen-client-urls=${client}`,
        `--advertise-client-urls=${client}`,
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=${all.join(',')}`,
        ...this.args.map((arg) => arg.replace('PORT', `${clientPort}`)),
      ],
      clientPort,
      () => isHealthy(client),
    );
  }

  /** While it is stopped: all of the member's data is gone. */
  wipe(member = 0): void {
    rmSync(this.dataDirectory(member), { recursive: true, force: true });
  }

  async destroy(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.stop('SIGKILL')));
    rmSync(this.directory, { recursive: true, force: true });
  }

  private dataDirectory(member: number): string {
    return join(this.directory, this.members[member]!.name);
  }
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(1000) });
    return answer.ok;
  } catch {
    return false;
  }
}
