import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { compiled } from '../compiled.js';

export interface PluginPlaces {
  readonly address: string;
  readonly root: string;
  readonly node: string;
  readonly serverUrl: string;
  readonly args?: readonly string[];
}

/** `holdfast containerd-plugin` in a process of its own. It is ended with the test process. */
export class PluginProcess {
  output = '';
  private child!: ChildProcess;

  private constructor(private readonly places: PluginPlaces) {}

  static async start(places: PluginPlaces): Promise<PluginProcess> {
    const plugin = new PluginProcess(places);
    await plugin.startAgain();
    return plugin;
  }

  /** Resolves when it serves. */
  async startAgain(): Promise<void> {
    const { address, root, node, serverUrl, args = [] } = this.places;
    const child = spawn(
      process.execPath,
      [
        compiled('src/cli/main.ts'),
        ...['containerd-plugin', '--address', address, '--root', root, '--node', node, '--server', serverUrl],
        ...args,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.child = child;
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => process.off('exit', kill));
    await new Promise<void>((resolve, reject) => {
      const listen = (data: Buffer) => {
        this.output += data.toString();
        if (this.output.includes('Holdfast serves containerd')) resolve();
      };
      child.stdout!.on('data', listen);
      child.stderr!.on('data', listen);
      child.once('exit', () => reject(new Error(`The plugin did not start: ${this.output}`)));
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Memory the process takes now, and took at most, in MB. */
  get residentMb(): { now: number; most: number } {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    const read = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
    return { now: read('VmRSS'), most: read('VmHWM') };
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Its exit code. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const { child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exited = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill(signal);
    await exited;
    this.output = '';
    return child.exitCode;
  }
}
