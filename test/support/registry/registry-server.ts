import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { engineBinary } from '../engines/engine-binary.js';
import { EngineProcess } from '../engines/engine-process.js';
import { freePorts } from '../engines/free-ports.js';
import { AccessLog } from './access-log.js';

/** The registry logs a request a little after its last byte has left. */
const QUIET_MS = 30;
const POLL_MS = 5;

/** A private docker-registry on a free port of the loopback, with a directory of its own. */
export class RegistryServer {
  private marks = 0;

  private constructor(
    readonly port: number,
    private readonly directory: string,
    private readonly process: EngineProcess,
    private readonly log: AccessLog,
  ) {}

  static async start(): Promise<RegistryServer> {
    const [port] = await freePorts(1);
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-registry-'));
    const file = join(directory, 'config.yml');
    writeFileSync(file, configuration(port!, join(directory, 'data')));
    const binary = engineBinary('docker-registry');
    const url = `http://127.0.0.1:${port}/v2/`;
    const process = await EngineProcess.start(binary, ['serve', file], port!, () => answers(url));
    const log = new AccessLog();
    process.onLine((line) => log.add(line));
    return new RegistryServer(port!, directory, process, log);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What was asked of it since the start or the last `forget`, once all of that has been logged. */
  async accessLog(): Promise<AccessLog> {
    const mark = `mark-${++this.marks}`;
    await fetch(`${this.url}/v2/?${mark}`);
    while (!this.log.includes(`?${mark} `)) await delay(POLL_MS);
    let size = -1;
    while (size !== this.log.size) {
      size = this.log.size;
      await delay(QUIET_MS);
    }
    return this.log;
  }

  async forget(): Promise<void> {
    (await this.accessLog()).clear();
  }

  async destroy(): Promise<void> {
    await this.process.stop('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** The packaged configuration wants passwords and listens everywhere. */
function configuration(port: number, data: string): string {
  return `version: 0.1
log:
  level: error
storage:
  filesystem:
    rootdirectory: ${data}
http:
  addr: 127.0.0.1:${port}
`;
}

async function answers(url: string): Promise<boolean> {
  try {
    const { ok } = await fetch(url, { signal: AbortSignal.timeout(1000) });
    return ok;
  } catch {
    return false;
  }
}
