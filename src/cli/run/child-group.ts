import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { EXIT } from '../exit-codes.js';

/** How a command ended. */
export interface Ending {
  readonly exitCode: number;
  /** Of a failure. */
  readonly error?: string;
}

/** How often to look whether the last of a group is gone; there is no event for it. */
const LOOK_EVERY_MS = 20;

/**
 * A command in a process group of its own, so that what it has started can be stopped with it. It is out of reach of the
 * terminal's Ctrl-C: pass signals on. (POSIX only.)
 */
export class ChildGroup {
  /** When the command itself has ended, or could not be started. Never rejects. */
  readonly ended: Promise<Ending>;
  readonly pid: number | undefined = undefined;

  constructor(command: readonly string[], environment: NodeJS.ProcessEnv, stdout: 'inherit' | 2) {
    const [file = '', ...args] = command;
    const env = { ...process.env, ...environment };
    try {
      const child = spawn(file, args, { detached: true, env, stdio: ['inherit', stdout, 'inherit'] });
      this.pid = child.pid;
      this.ended = endOf(child, file);
    } catch (error) {
      this.ended = Promise.resolve(notStarted(file, error as NodeJS.ErrnoException));
    }
  }

  /** To all of the group. */
  signal(signal: NodeJS.Signals): void {
    this.send(signal);
  }

  /** SIGTERM, and SIGKILL to whatever is left after this time. Resolves when nothing is. */
  async stop(killAfterMs: number): Promise<void> {
    const killAtMs = performance.now() + killAfterMs;
    this.send('SIGTERM');
    while (this.send(0) && performance.now() < killAtMs)
      await pause(Math.min(LOOK_EVERY_MS, Math.max(0, killAtMs - performance.now())));
    this.send('SIGKILL');
    await this.ended;
  }

  /** False: nobody is there any more. */
  private send(signal: NodeJS.Signals | 0): boolean {
    if (this.pid === undefined) return false;
    try {
      return process.kill(-this.pid, signal);
    } catch {
      return false;
    }
  }
}

function endOf(child: ChildProcess, file: string): Promise<Ending> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(notStarted(file, error)));
    child.once('exit', (code, signal) => resolve(endingOf(code, signal)));
  });
}

function notStarted(file: string, error: NodeJS.ErrnoException): Ending {
  const isThere = error.code !== 'ENOENT';
  const why = isThere ? `could not be started: ${error.message}` : 'was not found';
  return { exitCode: isThere ? EXIT.notExecutable : EXIT.notFound, error: `${file} ${why}` };
}

function endingOf(code: number | null, signal: NodeJS.Signals | null): Ending {
  if (signal) return { exitCode: EXIT.signalled + constants.signals[signal], error: `killed by ${signal}` };
  return code ? { exitCode: code, error: `exited with ${code}` } : { exitCode: 0 };
}
