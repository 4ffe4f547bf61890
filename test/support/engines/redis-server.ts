import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { engineBinary } from './engine-binary.js';
import { EngineProcess } from './engine-process.js';
import { freePorts } from './free-ports.js';

/** A private Redis on a free port of the loopback, with a directory of its own. */
export class RedisServer {
  readonly directory = mkdtempSync(join(tmpdir(), 'holdfast-redis-'));
  private process!: EngineProcess;

  private constructor(
    readonly port: number,
    private readonly args: readonly string[],
  ) {}

  /** `args` as on the command line: `['--appendonly', 'yes']`. */
  static async start(args: readonly string[] = []): Promise<RedisServer> {
    const [port] = await freePorts(1);
    const server = new RedisServer(port!, args);
    await server.run();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  signal(signal: NodeJS.Signals): void {
    this.process.signal(signal);
  }

  stop(signal?: NodeJS.Signals): Promise<void> {
    return this.process.stop(signal);
  }

  /** On the same port, with what is in the directory. */
  async run(): Promise<void> {
    const own = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.directory, '--save', ''];
    this.process = await EngineProcess.start(
      engineBinary('redis-server'),
      [...own, '--appendfsync', 'everysec', ...this.args],
      this.port,
      async () => {
        const pong = await this.command('PING').catch(() => '');
        return pong === 'PONG';
      },
    );
  }

  /** On a connection of its own. */
  async command(name: string, ...args: (string | number)[]): Promise<unknown> {
    const redis = new Redis(this.port, '127.0.0.1', { lazyConnect: true, retryStrategy: null });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      return await redis.call(name, ...args);
    } finally {
      redis.disconnect();
    }
  }

  copyDirectory(to: string): void {
    rmSync(to, { recursive: true, force: true });
    cpSync(this.directory, to, { recursive: true });
  }

  /** While it is stopped: the directory as it was when copied. */
  putBack(copy: string): void {
    rmSync(this.directory, { recursive: true, force: true });
    cpSync(copy, this.directory, { recursive: true });
  }

  async destroy(): Promise<void> {
    await this.stop('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }
}
