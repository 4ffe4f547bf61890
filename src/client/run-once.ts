import { inspect } from 'node:util';
import { type Clock } from './clock.js';
import { isFatal } from './fatal.js';
import { type HeldLock, type Hold } from './hold.js';
import { type LockErrors } from './lock-errors.js';
import { type Doer, type LockOptions, type LockRequest, type Outcome } from './requests.js';
import { SharedRuns, type Start, type TimedOut } from './shared-runs.js';
import { type Tries } from './tries.js';

/** What became of a piece of work. */
export type RunResult<T> =
  | { readonly status: 'executed'; readonly value: T }
  /** Somebody else has done it. */
  | { readonly status: 'skipped'; readonly doneBy?: Doer; readonly message?: string };

export type Work<T> = (hold: Hold) => T | Promise<T>;

/** What runs need of the client. */
export interface Locks {
  lock(request: LockRequest, options: LockOptions, tries: Tries): Promise<Locked>;
  unlock(hold: HeldLock, outcome: Outcome): Promise<unknown>;
}

interface Locked {
  readonly hold?: HeldLock;
  readonly error?: Error;
  readonly doneBy?: Doer;
  readonly message?: string;
}

/** Work under a lock, with its outcome reported. Equal calls that come while it is under way share one run. */
export class Runner {
  private readonly runs: SharedRuns<RunResult<unknown>>;

  constructor(
    private readonly locks: Locks,
    clock: Clock,
    private readonly errors: LockErrors,
  ) {
    this.runs = new SharedRuns(clock);
  }

  run<T>(request: LockRequest, work: Work<T>, options: LockOptions): Promise<RunResult<T>> {
    const waitMs = options.waitMs === 0 ? 0 : undefined;
    const start: Start<RunResult<T>> = (deserted, begin, tries) =>
      this.lockAndWork(request, { signal: deserted, waitMs }, tries, (hold) => {
        begin();
        return this.workAndUnlock(hold, work, deserted);
      });
    const timedOut: TimedOut = (afterMs, tries) => this.errors.timedOut(request, afterMs, tries);
    return this.runs.join(runName(request, waitMs), options, start, timedOut) as Promise<RunResult<T>>;
  }

  private async lockAndWork<T>(
    request: LockRequest,
    options: LockOptions,
    tries: Tries,
    work: (hold: HeldLock) => Promise<T>,
  ): Promise<RunResult<T>> {
    const { hold, error, doneBy, message } = await this.locks.lock(request, options, tries);
    if (error) throw error;
    if (hold) return { status: 'executed', value: await work(hold) };
    return { status: 'skipped', ...(doneBy && { doneBy }), ...(message !== undefined && { message }) };
  }

  /** `unlock` looks at the clock: a result that came too late is not reported as a success. */
  private async workAndUnlock<T>(hold: HeldLock, work: Work<T>, deserted: AbortSignal): Promise<T> {
    const interrupt = () => hold.interrupt(deserted.reason);
    deserted.addEventListener('abort', interrupt, { once: true });
    let value: T;
    try {
      deserted.throwIfAborted();
      value = await work(hold);
    } catch (error) {
      await this.reportFailure(hold, error);
      throw error;
    } finally {
      deserted.removeEventListener('abort', interrupt);
    }
    await this.locks.unlock(hold, { success: true });
    return value;
  }

  private async reportFailure(hold: HeldLock, cause: unknown): Promise<void> {
    if (hold.isLost) throw hold.lossAfter(cause);
    await this.locks.unlock(hold, failureOf(cause)).catch(() => undefined);
  }
}

/** Calls are equal if they ask for the same in the same way; how long each waits is its own affair, unless not at all. */
function runName(request: LockRequest, waitMs: 0 | undefined): string {
  const { type, resourceId, subtype, leaseMs, absent = false, ticket } = request;
  return JSON.stringify([type, resourceId, subtype, leaseMs, absent, ticket, waitMs]);
}

type Failure = Outcome & { readonly success: false };

/** Work may throw anything, also what cannot be looked at. */
export function failureOf(cause: unknown): Failure {
  try {
    return { success: false, error: messageOf(cause), fatal: isFatal(cause) };
  } catch {
    return { success: false, error: 'an error that cannot be described' };
  }
}

function messageOf(error: unknown): string {
  const message: unknown = error instanceof Error ? error.message : error;
  return typeof message === 'string' ? message : inspect(message, { depth: 1 });
}
