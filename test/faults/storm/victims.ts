import { type EngineProxy } from '../../support/engines/engine-proxy.js';
import { type ServerProcess } from '../../support/server-process.js';

/** A process that can be killed and started again, or stopped and let go on. */
export interface Victim {
  readonly name: string;
  kill(): Promise<void>;
  startAgain(): Promise<void>;
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
}

/** An instance of Holdfast, and what stands between it and the engine. */
export class Instance implements Victim {
  constructor(
    readonly name: string,
    readonly server: ServerProcess,
    readonly proxies: readonly EngineProxy[],
  ) {}

  kill(): Promise<void> {
    return this.server.end('SIGKILL');
  }

  startAgain(): Promise<void> {
    return this.server.startAgain();
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.server.signal(signal);
  }

  async remove(): Promise<void> {
    await this.server.remove();
    for (const proxy of this.proxies) proxy.close();
  }
}
