import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { compiled } from './compiled.js';
import { temporaryDirectory } from './temporary-directory.js';

/** For hooks: on a busy machine a start takes seconds, the first one more (it compiles). */
export const START_TIMEOUT_MS = 60_000;

/** However the test process ends: nobody is left to end this one. */
const DIES_WITH_ITS_PARENT = `data:text/javascript,${encodeURIComponent(
  "process.on('disconnect', () => process.kill(process.pid, 'SIGKILL')); process.channel.unref();",
)}`;

export interface Reply {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/**
 * The real server in a process of its own, which a test can kill and start again on the same port and over the same
 * directory. `file:` in the given environment becomes that directory.
 */
export class ServerProcess {
  /** What it said, for the message of a failed test. */
  output = '';
  private child: ChildProcess | undefined;
  private agent = new Agent({ keepAlive: true });

  private constructor(
    readonly port: number,
    private readonly directory: string,
    private readonly environment: Readonly<Record<string, string>>,
    private readonly program: string,
  ) {}

  /** `program`: the JavaScript that is run, if not the server as it is. */
  static async start(
    environment: Readonly<Record<string, string>> = {},
    program = compiled('src/main.ts'),
  ): Promise<ServerProcess> {
    const server = new ServerProcess(await freePort(), temporaryDirectory(), environment, program);
    await server.startAgain();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Memory the process takes, in MB. */
  get residentMb(): number {
    const status = readFileSync(`/proc/${this.child!.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  }

  /** Resolves when it listens. */
  async startAgain(): Promise<void> {
    const { STORE_URL: store = 'memory:', ...rest } = this.environment;
    const child = spawn(process.execPath, ['--import', DIES_WITH_ITS_PARENT, this.program], {
      cwd: this.directory,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: {
        PATH: process.env['PATH'],
        LOG_LEVEL: 'error',
        ...rest,
        PORT: String(this.port),
        STORE_URL: store === 'file:' ? `file:${this.directory}/data` : store,
      },
    });
    this.child = child;
    child.stderr!.on('data', (data: Buffer) => (this.output += data.toString()));
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout! }).on('line', (line) => {
        this.output += `${line}\n`;
        if (line.startsWith('Holdfast listens')) resolve();
      });
      child.once('exit', () => reject(new Error(`The server did not start: ${this.output}`)));
    });
  }

  /** Nobody has ended it, and it has not ended by itself. */
  get isRunning(): boolean {
    return this.child?.exitCode === null && this.child.signalCode === null;
  }

  /** SIGSTOP and SIGCONT. */
  signal(signal: NodeJS.Signals): void {
    this.child!.kill(signal);
  }

  /** Ends the process and waits until it is gone. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { child } = this;
    if (child && this.isRunning) {
      child.kill(signal);
      await once(child, 'exit');
    }
    this.agent.destroy();
    this.agent = new Agent({ keepAlive: true });
  }

  /** Ends it for good, with all it has stored. */
  async remove(): Promise<void> {
    await this.end('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }

  post(path: string, body: object): Promise<Reply> {
    return this.call('POST', path, body);
  }

  get(path: string): Promise<Reply> {
    return this.call('GET', path);
  }

  /** Rejects when the connection breaks: then nobody knows whether it was done. */
  call(method: string, path: string, body?: object): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const text = body && JSON.stringify(body);
      const length = Buffer.byteLength(text ?? '');
      const headers =
        text === undefined ? {} : { 'content-type': 'application/json', 'content-length': length };
      const options = { method, path, port: this.port, host: '127.0.0.1', agent: this.agent, headers };
      const sent = request(options, (response) => {
        let answer = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
        response.on('error', reject);
        response.on('end', () => {
          const json = JSON.parse(answer) as Record<string, unknown>;
          resolve({ status: response.statusCode ?? 0, body: json });
        });
      });
      sent.on('error', reject);
      sent.end(text);
    });
  }
}

/** Chosen beforehand, so that the server can come back to it. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
