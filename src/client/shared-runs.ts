import { setMaxListeners } from 'node:events';
import { type Clock } from './clock.js';
import { type LockOptions } from './requests.js';
import { Tries } from './tries.js';

/** Gives the result. `deserted` aborts when nobody waits for it any more; `begin` says that waiting is over. */
export type Start<T> = (deserted: AbortSignal, begin: () => void, tries: Tries) => Promise<T>;

/** What one leaves with for whom the work has not begun in time. */
export type TimedOut = (waitMs: number, tries: Tries) => Error;

/**
 * Runs that are under way, by name. Whoever comes while one is under way joins it; its signal aborts when everybody
 * has left.
 */
export class SharedRuns<T> {
  private readonly runs = new Map<string, SharedRun<T>>();

  constructor(private readonly clock: Clock) {}

  /**
   * The run's result; rejects when the signal aborts, or when the work has not begun within `waitMs`, whatever becomes of
   * the run.
   */
  join(name: string, options: LockOptions, start: Start<T>, timedOut: TimedOut): Promise<T> {
    const { signal } = options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const run = this.runs.get(name) ?? this.begin(name, start);
    return run.join(options, timedOut);
  }

  private begin(name: string, start: Start<T>): SharedRun<T> {
    const run = new SharedRun<T>(start, this.clock, () => {
      if (this.runs.get(name) === run) this.runs.delete(name);
    });
    this.runs.set(name, run);
    return run;
  }
}

class SharedRun<T> {
  private readonly controller = new AbortController();
  private readonly tries = new Tries();
  private readonly result: Promise<T>;
  private readonly waitEnds = new Set<() => void>();
  private hasBegun = false;
  private members = 0;

  constructor(
    start: Start<T>,
    private readonly clock: Clock,
    private readonly onOver: () => void,
  ) {
    this.result = start(this.controller.signal, () => this.begin(), this.tries).finally(onOver);
    this.result.catch(() => undefined);
  }

  join({ signal, waitMs = Infinity }: LockOptions, timedOut: TimedOut): Promise<T> {
    this.members++;
    if (signal) setMaxListeners(0, signal);
    return new Promise((resolve, reject) => {
      const leave = (reason: unknown) => {
        forget();
        this.leave(reason);
        reject(reason);
      };
      const onAbort = () => leave(signal?.reason);
      const cancelTimer = this.limit(waitMs, () => leave(timedOut(waitMs, this.tries)));
      const forget = () => {
        cancelTimer();
        signal?.removeEventListener('abort', onAbort);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.result.finally(forget).then(resolve, reject);
    });
  }

  private limit(waitMs: number, onEnd: () => void): () => void {
    if (this.hasBegun || waitMs === 0 || waitMs === Infinity) return () => undefined;
    const cancel = this.clock.after(waitMs, onEnd);
    this.waitEnds.add(cancel);
    return () => {
      cancel();
      this.waitEnds.delete(cancel);
    };
  }

  private begin(): void {
    this.hasBegun = true;
    for (const cancel of this.waitEnds) cancel();
  }

  /** One whom nobody waits for is not joined any more: it is about to fail. */
  private leave(reason: unknown): void {
    this.members--;
    if (this.members > 0) return;
    this.onOver();
    this.controller.abort(reason);
  }
}
