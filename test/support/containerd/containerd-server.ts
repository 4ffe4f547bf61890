import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { engineBinary } from '../engines/engine-binary.js';
import { EngineProcess } from '../engines/engine-process.js';
import { containerdConfig } from './containerd-config.js';

/** `ctr` tries for ever where it finds nobody. */
const CTR_TIMEOUT_MS = 60_000;

export interface CtrResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A `ctr` that runs. */
export class Ctr {
  readonly finished: Promise<CtrResult>;

  constructor(readonly child: ChildProcess) {
    let stdout = '';
    let stderr = '';
    child.stdout!.on('data', (data: Buffer) => (stdout += data.toString()));
    child.stderr!.on('data', (data: Buffer) => (stderr += data.toString()));
    this.finished = once(child, 'close').then(([code]) => ({ code: code as number | null, stdout, stderr }));
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.child.kill(signal);
    await this.finished;
  }
}

/** A private containerd with all its places below one directory. It can be ended and started again. */
export class ContainerdServer {
  readonly socket: string;
  private process!: EngineProcess;
  private readonly clients = new Set<Ctr>();

  private constructor(
    readonly directory: string,
    private readonly pluginSocket: string | undefined,
  ) {
    this.socket = join(directory, 'containerd.sock');
  }

  static async start(directory: string, pluginSocket?: string): Promise<ContainerdServer> {
    const server = new ContainerdServer(directory, pluginSocket);
    await server.startAgain();
    return server;
  }

  async startAgain(): Promise<void> {
    const { directory, socket, pluginSocket } = this;
    const [root, state, file] = ['root', 'state', 'config.toml'].map((name) => join(directory, name));
    const places = { root: root!, state: state!, socket };
    writeFileSync(file!, containerdConfig(pluginSocket === undefined ? places : { ...places, pluginSocket }));
    const args = ['--config', file!, '--log-level', 'warn'];
    this.process = await EngineProcess.start(engineBinary('containerd'), args, socket, async () => {
      const { code } = await this.run('version');
      return code === 0;
    });
  }

  get pid(): number {
    return this.process.pid;
  }

  /** In the namespace `demo`, unless `-n` comes first. */
  start(...args: readonly string[]): Ctr {
    const inNamespace = args[0] === '-n' ? args : ['-n', 'demo', ...args];
    const child = spawn(engineBinary('ctr'), ['-a', this.socket, ...inNamespace], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: CTR_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    const ctr = new Ctr(child);
    this.clients.add(ctr);
    void ctr.finished.then(() => this.clients.delete(ctr));
    return ctr;
  }

  run(...args: readonly string[]): Promise<CtrResult> {
    return this.start(...args).finished;
  }

  /** What it prints; it must succeed. */
  async ctr(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args);
    if (code !== 0) throw new Error(`ctr ${args.join(' ')} exited with ${code}:\n${stdout}${stderr}`);
    return stdout;
  }

  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await Promise.all([...this.clients].map((ctr) => ctr.kill()));
    await this.process.stop(signal);
  }

  /** As `stop`, but the clients are left to find out. */
  kill(): Promise<void> {
    return this.process.stop('SIGKILL');
  }
}
