import { constants } from 'node:os';
import { EXIT } from '../exit-codes.js';
import { type ChildGroup } from './child-group.js';

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A signal came before the command was started. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly code = 'INTERRUPTED';
  readonly exitCode: number;

  constructor(signal: NodeJS.Signals) {
    super(`Interrupted by ${signal} while waiting; the queue was left.`);
    this.exitCode = EXIT.signalled + constants.signals[signal];
  }
}

/**
 * Passes signals to the command; before there is one they end the wait. Ctrl-Z is ignored: a holder that is stopped cannot
 * keep its lock.
 */
export class Signals {
  child: ChildGroup | undefined;
  private readonly controller = new AbortController();

  constructor() {
    for (const signal of FORWARDED) process.on(signal, this.receive);
    process.on('SIGTSTP', ignore);
  }

  get waitEnd(): AbortSignal {
    return this.controller.signal;
  }

  stop(): void {
    for (const signal of FORWARDED) process.off(signal, this.receive);
    process.off('SIGTSTP', ignore);
  }

  private readonly receive = (signal: NodeJS.Signals) => {
    if (this.child) this.child.signal(signal);
    else this.controller.abort(new Interrupted(signal));
  };
}

function ignore(): void {}
