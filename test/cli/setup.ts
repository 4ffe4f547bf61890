import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { compiled } from '../support/compiled.js';
import { until } from '../support/server-bootstrap.js';
import { ServerProcess } from '../support/server-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** On a busy machine a process takes seconds to start. */
export const SLOW_MS = 20_000;

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running `holdfast`. Ends with the test. */
export class Cli {
  stdout = '';
  stderr = '';
  readonly finished: Promise<Finished>;

  constructor(readonly child: ChildProcess) {
    child.stdout!.on('data', (data: Buffer) => (this.stdout += data.toString()));
    child.stderr!.on('data', (data: Buffer) => (this.stderr += data.toString()));
    this.finished = once(child, 'close').then(([code]) => {
      const { stdout, stderr } = this;
      return { code: code as number | null, stdout, stderr };
    });
  }

  untilPrints(text: string): Promise<void> {
    return until(() => this.stdout.includes(text), SLOW_MS);
  }
}

/** Starts `holdfast` with these arguments, for this server. */
export function start(server: { readonly url: string }, args: readonly string[]): Cli {
  const env = { PATH: process.env['PATH'], HOLDFAST_URL: server.url };
  const child = spawn(process.execPath, [compiled('src/cli/main.ts'), ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return new Cli(child);
}

/** Runs it to its end. */
export function holdfast(server: { readonly url: string }, ...args: readonly string[]): Promise<Finished> {
  return start(server, args).finished;
}

export function json({ stdout }: Finished): Record<string, unknown> {
  return JSON.parse(stdout) as Record<string, unknown>;
}

export async function serverProcess(environment: Record<string, string> = {}): Promise<ServerProcess> {
  const server = await ServerProcess.start(environment);
  onTestFinished(() => server.remove());
  return server;
}

export const NOWHERE = { url: 'http://127.0.0.1:1' };

/** What several processes did, in the order in which they did it. */
export class Diary {
  private readonly directory = temporaryDirectory();
  readonly path = join(this.directory, 'diary');

  constructor() {
    onTestFinished(() => rmSync(this.directory, { recursive: true, force: true }));
  }

  /** For a shell. */
  write(word: string): string {
    return `echo ${word} >> '${this.path}'`;
  }

  get words(): string[] {
    return existsSync(this.path) ? readFileSync(this.path, 'utf8').trim().split('\n') : [];
  }

  untilHas(word: string): Promise<void> {
    return until(() => this.words.includes(word), SLOW_MS);
  }
}

export async function eventsOf(server: { readonly url: string }): Promise<Cli> {
  const watch = start(server, ['watch', '--json']);
  await watch.untilPrints('"snapshot"');
  return watch;
}
