import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { engineBinary } from './engine-binary.js';
import { EngineProcess } from './engine-process.js';
import { freePorts } from './free-ports.js';

/** One Sentinel that watches a primary under the name `main`. */
export class RedisSentinel {
  private constructor(
    readonly port: number,
    private readonly directory: string,
    private readonly process: EngineProcess,
  ) {}

  static async start(primaryPort: number): Promise<RedisSentinel> {
    const [port] = await freePorts(1);
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-sentinel-'));
    const file = join(directory, 'sentinel.conf');
    writeFileSync(
      file,
      `port ${port}\nbind 127.0.0.1\ndir ${directory}\nsentinel monitor main 127.0.0.1 ${primaryPort} 1\n` +
        'sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 5000\n',
    );
    const binary = engineBinary('redis-server');
    const process = await EngineProcess.start(binary, [file, '--sentinel'], port!, async () => true);
    return new RedisSentinel(port!, directory, process);
  }

  /** What it says of the primary's replicas. */
  async replicas(): Promise<string> {
    const redis = new Redis(this.port, '127.0.0.1', { lazyConnect: true, retryStrategy: null });
    try {
      await redis.connect();
      return JSON.stringify(await redis.call('SENTINEL', 'REPLICAS', 'main'));
    } finally {
      redis.disconnect();
    }
  }

  async destroy(): Promise<void> {
    await this.process.stop('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }
}
