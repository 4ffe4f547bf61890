import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
// @ts-expect-error pg brings no types
import pg from 'pg';
import { engineBinary } from './engine-binary.js';
import { EngineProcess } from './engine-process.js';
import { freePorts } from './free-ports.js';

/** PostgreSQL refuses to run as root; its package makes this user. */
const USER = 'postgres';

/** A private PostgreSQL on a free port of the loopback, with a directory of its own. */
export class PostgresServer {
  private constructor(
    readonly port: number,
    private readonly directory: string,
    private readonly process: EngineProcess,
  ) {}

  static async start(): Promise<PostgresServer> {
    const binary = engineBinary('postgres');
    const owner = ownerOf();
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-postgres-'));
    if (owner) chownSync(directory, owner.uid, owner.gid);
    const [port] = await freePorts(1);
    const initdb = ['-D', directory, '-U', USER, '-A', 'trust', '-N', '-E', 'UTF8', '--locale=C'];
    execFileSync(join(dirname(binary), 'initdb'), initdb, { stdio: 'pipe', cwd: directory, ...owner });
    const args = ['-D', directory, '-p', `${port}`, '-h', '127.0.0.1', '-k', directory, '-F'];
    const process = await EngineProcess.start(binary, args, port!, () => isServing(port!), owner);
    return new PostgresServer(port!, directory, process);
  }

  /** For `pg`. */
  get options(): { host: string; port: number; user: string; database: string } {
    return { host: '127.0.0.1', port: this.port, user: USER, database: 'postgres' };
  }

  async destroy(): Promise<void> {
    await this.process.stop('SIGINT');
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** It listens before it takes connections. */
async function isServing(port: number): Promise<boolean> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: USER, database: 'postgres' });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

function ownerOf(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, USER], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
