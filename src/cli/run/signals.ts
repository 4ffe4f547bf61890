import { constants } from 'node:os';
import { EXIT } from '../exit-codes.js';
import { type ChildGroup } from './child-group.js';

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A signal came while there was no command to pass it to. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly code = 'INTERRUPTED';
  readonly exitCode: number;

  constructor(signal: NodeJS.Signals, when: string) {
    super(`Interrupted by ${signal} ${when}.`);
    this.exitCode = EXIT.signalled + constants.signals[signal];
  }
}

/**
 * Passes signals to the command; before it is started they end the wait, after it has ended the report. Ctrl-Z is ignored: a holder that is stopped cannot
 * keep its lock.
 */
export class Signals {
  private child: ChildGroup | undefined;
  private when = 'while waiting; the queue was left';
  private readonly controller = new AbortController();

  constructor() {
    for (const signal of FORWARDED) process.on(signal, this.receive);
    process.on('SIGTSTP', ignore);
  }

  /** Aborts when one came that could not be passed on. */
  get interruption(): AbortSignal {
    return this.controller.signal;
  }

  started(child: ChildGroup): void {
    this.child = child;
  }

  ended(): void {
    this.child = undefined;
    this.when = 'before the outcome of the command was reported';
  }

  stop(): void {
    for (const signal of FORWARDED) process.off(signal, this.receive);
    process.off('SIGTSTP', ignore);
  }

  private readonly receive = (signal: NodeJS.Signals) => {
    if (this.child) this.child.signal(signal);
    else this.controller.abort(new Interrupted(signal, this.when));
  };
}

function ignore(): void {}
