import { setMaxListeners } from 'node:events';
import { type CancelTimer, type Clock } from './clock.js';
import { type LockErrors } from './lock-errors.js';
import { type LockOptions, type LockRequest } from './requests.js';
import { type Tries } from './tries.js';

/**
 * The end of a wait: the caller's signal, its time limit if it waits at all, or the closing of the client, whichever comes first. Many waits may
 * share a signal; that is no leak to be warned of.
 */
export class WaitEnd {
  private readonly controller = new AbortController();
  private readonly sources: readonly AbortSignal[];
  private readonly cancelTimer: CancelTimer | undefined;

  constructor(
    private readonly request: LockRequest,
    { signal, waitMs }: LockOptions,
    private readonly closing: AbortSignal,
    clock: Clock,
    private readonly errors: LockErrors,
    tries: Tries,
  ) {
    this.sources = signal ? [signal, closing] : [closing];
    if (signal) setMaxListeners(0, signal);
    for (const source of this.sources) source.addEventListener('abort', this.onAbort);
    this.onAbort();
    if (!waitMs || waitMs === Infinity) return;
    this.cancelTimer = clock.after(waitMs, () =>
      this.controller.abort(errors.timedOut(request, waitMs, tries)),
    );
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Settles as the promise does, or rejects at the end. What comes after the end goes to `onLate`. */
  race<T>(promise: Promise<T>, onLate: (value: T) => void): Promise<T> {
    const { signal } = this;
    return new Promise<T>((resolve, reject) => {
      const onEnd = () => reject(signal.reason);
      const over = () => {
        signal.removeEventListener('abort', onEnd);
        this.dispose();
      };
      if (signal.aborted) onEnd();
      signal.addEventListener('abort', onEnd, { once: true });
      promise.then(
        (value) => {
          over();
          if (signal.aborted) onLate(value);
          else resolve(value);
        },
        (error: unknown) => {
          over();
          reject(error);
        },
      );
    });
  }

  private readonly onAbort = () => {
    const source = this.sources.find(({ aborted }) => aborted);
    if (!source) return;
    this.controller.abort(source === this.closing ? this.errors.closed(this.request) : source.reason);
  };

  private dispose(): void {
    this.cancelTimer?.();
    for (const source of this.sources) source.removeEventListener('abort', this.onAbort);
  }
}
