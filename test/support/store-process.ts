import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { type Write } from '../../src/stores/state-store.interface.js';
import { compiled } from './compiled.js';

export type StoreCommand =
  | { do: 'open' | 'close' | 'list' }
  | { do: 'commit'; writes: Write[] }
  | { do: 'get'; keys: string[] }
  | { do: 'load'; workers: number };

export interface Acknowledged {
  worker: number;
  n: number;
  revision: number;
}

export type StoreReply =
  { result: unknown } | { error: { code: string; message: string } } | { acknowledged: Acknowledged };

export interface Surroundings {
  /** No file may grow beyond this many KiB, as on a full disk. */
  readonly fileBlocks?: number;
  /** The process may have no more addresses than for this many KiB. */
  readonly addressBlocks?: number;
  readonly env?: NodeJS.ProcessEnv;
}

/** Soft: it can be lifted. */
function limit(option: string, blocks: number | undefined): string[] {
  return blocks === undefined ? [] : [`--${option}=${blocks * 1024}:`];
}

/**
 * An LMDB store in a process of its own, which a test can kill. Commands are answered in order. No shell starts it: with a socket as
 * its input bash may take itself for a remote one and run the user's start-up files, preloaded with whatever the test watches the store by.
 */
export class StoreProcess {
  readonly acknowledged: Acknowledged[] = [];
  /** What the process said on standard error, for the message of a failed test. */
  complaints = '';
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;

  private readonly child: ChildProcess;
  private readonly replies: ((reply: StoreReply) => void)[] = [];
  private gone: StoreReply | undefined;
  private onAcknowledged: () => void = () => {};

  constructor(directory: string, { fileBlocks, addressBlocks, env }: Surroundings = {}) {
    const program = compiled('test/stores/programs/store-process.ts');
    const limits = [...limit('fsize', fileBlocks), ...limit('as', addressBlocks)];
    const command = [...(limits.length > 0 ? ['prlimit', ...limits] : []), process.execPath];
    this.child = spawn(command[0]!, [...command.slice(1), program, directory], {
      stdio: 'pipe',
      env: { ...process.env, ...env },
    });
    this.child.stdin!.on('error', () => {});
    createInterface({ input: this.child.stdout! }).on('line', (line) =>
      this.hear(JSON.parse(line) as StoreReply),
    );
    this.child.stderr!.on('data', (data: Buffer) => (this.complaints += data.toString()));
    this.ended = new Promise((resolve) => {
      this.child.on('close', (code, signal) => {
        const error = {
          code: 'PROCESS_ENDED',
          message: `exit code ${code}, signal ${signal}: ${this.complaints}`,
        };
        this.gone = { error };
        for (const answer of this.replies.splice(0)) answer(this.gone);
        resolve({ code, signal });
      });
    });
  }

  /** Resolves with the result, or with `{ code, message }` of the error. */
  async tell(command: StoreCommand): Promise<unknown> {
    const reply = await new Promise<StoreReply>((resolve) => {
      if (this.gone) return resolve(this.gone);
      this.replies.push(resolve);
      this.child.stdin!.write(`${JSON.stringify(command)}\n`);
    });
    if ('error' in reply) return reply.error;
    return 'result' in reply ? reply.result : undefined;
  }

  async load(workers: number, commits: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.onAcknowledged = () => {
        if (this.acknowledged.length >= commits) resolve();
      };
      void this.tell({ do: 'load', workers });
      void this.ended.then(() => resolve());
    });
  }

  /** There is room again. */
  liftFileLimit(): void {
    execFileSync('prlimit', ['--pid', String(this.child.pid), '--fsize=unlimited:']);
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }

  private hear(reply: StoreReply): void {
    if (!('acknowledged' in reply)) return this.replies.shift()?.(reply);
    this.acknowledged.push(reply.acknowledged);
    this.onAcknowledged();
  }
}
