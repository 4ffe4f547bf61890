import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;

/** A slow machine under load starts an engine within this. */
const START_TIMEOUT_MS = 30_000;

/** One process of an engine. It is ended with the test process, whatever becomes of the test. */
export class EngineProcess {
  private output = '';

  private constructor(
    private readonly child: ChildProcess,
    /** A port of the loopback, or the path of a socket. */
    private readonly address: number | string,
  ) {
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (data: Buffer) => (this.output = (this.output + data.toString()).slice(-4000)));
    }
  }

  /** `answers`: whether it serves already, once it listens. `owner`: for engines that refuse to run as root. */
  static async start(
    binary: string,
    args: readonly string[],
    address: number | string,
    answers: () => Promise<boolean>,
    owner?: { readonly uid: number; readonly gid: number },
  ): Promise<EngineProcess> {
    const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'], ...owner });
    const engine = new EngineProcess(child, address);
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => process.off('exit', kill));
    await engine.started(answers);
    return engine;
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** What it says on its standard output from now on. */
  onLine(listener: (line: string) => void): void {
    createInterface({ input: this.child.stdout! }).on('line', listener);
  }

  /** SIGSTOP and SIGCONT included. */
  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGCONT');
    this.child.kill(signal);
    await exited;
  }

  private async started(answers: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (!((await listens(this.address)) && (await answers()))) {
      if (this.child.exitCode !== null) throw new Error(`the engine ended at once:\n${this.output}`);
      if (Date.now() > deadline) throw new Error(`the engine does not answer:\n${this.output}`);
      await delay(POLL_MS);
    }
  }
}

async function listens(address: number | string): Promise<boolean> {
  const socket = typeof address === 'string' ? connect(address) : connect(address, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
