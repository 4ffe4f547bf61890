import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { engineBinary } from '../engines/engine-binary.js';
import { EngineProcess } from '../engines/engine-process.js';
import { type ContainerdPlaces, containerdConfig } from './containerd-config.js';

/** `ctr` tries for ever where it finds nobody. */
const CTR_TIMEOUT_MS = 50_000;

/** What is said where the machine lets nobody mount. */
export const CANNOT_UNPACK = /not permitted|not supported|no such device/i;

export interface CtrResult {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** A `ctr` that runs. */
export class Ctr {
  readonly finished: Promise<CtrResult>;

  constructor(
    private readonly child: ChildProcess,
    private readonly args: readonly string[],
    input: Buffer | undefined,
  ) {
    const stdout: Buffer[] = [];
    let stderr = '';
    child.stdout!.on('data', (data: Buffer) => stdout.push(data));
    child.stderr!.on('data', (data: Buffer) => (stderr += data.toString()));
    child.stdin!.on('error', () => undefined).end(input);
    this.finished = once(child, 'close').then(([code]) => ({
      code: code as number | null,
      stdout: Buffer.concat(stdout),
      stderr,
    }));
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** What it prints; it must succeed. */
  async succeeded(): Promise<Buffer> {
    const { code, stdout, stderr } = await this.finished;
    if (code === 0) return stdout;
    throw new Error(`ctr ${this.args.join(' ')} exited with ${code}:\n${stdout.toString()}${stderr}`);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.child.kill(signal);
    await this.finished;
  }
}

export type ContainerdOptions = Pick<ContainerdPlaces, 'pluginSocket' | 'cri'>;

/** A private containerd with all its places below one directory. It can be ended and started again. */
export class ContainerdServer {
  readonly socket: string;
  private process!: EngineProcess;
  private readonly clients = new Set<Ctr>();

  private constructor(
    readonly directory: string,
    private readonly options: ContainerdOptions,
  ) {
    this.socket = join(directory, 'containerd.sock');
  }

  static async start(directory: string, options: ContainerdOptions = {}): Promise<ContainerdServer> {
    const server = new ContainerdServer(directory, options);
    await server.startAgain();
    return server;
  }

  async startAgain(): Promise<void> {
    const { directory, socket } = this;
    const [root, state, file] = ['root', 'state', 'config.toml'].map((name) => join(directory, name));
    writeFileSync(file!, containerdConfig({ root: root!, state: state!, socket, ...this.options }));
    const args = ['--config', file!, '--log-level', 'warn'];
    this.process = await EngineProcess.start(engineBinary('containerd'), args, socket, async () => {
      const { code } = await this.start('version').finished;
      return code === 0;
    });
  }

  get pid(): number {
    return this.process.pid;
  }

  /** In the namespace `demo`, unless `-n` comes first. */
  start(...args: readonly string[]): Ctr {
    return this.spawn(args);
  }

  async ctr(...args: readonly string[]): Promise<string> {
    return (await this.spawn(args).succeeded()).toString();
  }

  /** With these bytes as its standard input. */
  async feed(input: Buffer, ...args: readonly string[]): Promise<string> {
    return (await this.spawn(args, input).succeeded()).toString();
  }

  fetch(image: { readonly ref: string }, namespace = 'demo'): Ctr {
    return this.start('-n', namespace, 'content', 'fetch', '--plain-http', image.ref);
  }

  /** Whether all of the image is there, in containerd's own words. */
  async isComplete({ ref }: { readonly ref: string }, namespace = 'demo'): Promise<boolean> {
    const said = await this.ctr('-n', namespace, 'images', 'check', `name==${ref}`);
    return said.includes('complete (') && !said.includes('incomplete (');
  }

  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await Promise.all([...this.clients].map((ctr) => ctr.kill()));
    await this.process.stop(signal);
  }

  /** As `stop`, but the clients are left to find out. */
  kill(): Promise<void> {
    return this.process.stop('SIGKILL');
  }

  private spawn(args: readonly string[], input?: Buffer): Ctr {
    const inNamespace = args[0] === '-n' ? args : ['-n', 'demo', ...args];
    const options = { timeout: CTR_TIMEOUT_MS, killSignal: 'SIGKILL' } as const;
    const child = spawn(engineBinary('ctr'), ['-a', this.socket, ...inNamespace], options);
    const ctr = new Ctr(child, args, input);
    this.clients.add(ctr);
    void ctr.finished.then(() => this.clients.delete(ctr));
    return ctr;
  }
}
