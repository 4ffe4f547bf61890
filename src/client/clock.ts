/** Time as a parameter, so that tests can simulate it. */
export interface Clock {
  /** Milliseconds since some fixed moment. Never goes back; goes on while the process or the machine sleeps. */
  monotonicMs(): number;
  /**
   * Calls back once, not before `delayMs` have passed. A timer in the `background` does not keep the process alive.
   */
  after(delayMs: number, callback: () => void, background?: boolean): CancelTimer;
}

export type CancelTimer = () => void;

/**
 * Wall time that runs ahead of the monotonic clock by more than this between two looks means that the machine was
 * suspended: Linux stops the monotonic clock then. Adjustments of the wall clock by NTP are slower.
 */
const SUSPENSION_MS = 100;

/** `setTimeout` drops fractions, and counts in whole milliseconds: it calls back up to one too early. */
const ROUNDING_MS = 1;

/** `setTimeout` calls back at once after anything longer. */
const LONGEST_MS = 2 ** 31 - 1;

/** A step of the wall clock forwards looks like a suspension; that loses holds too early, never too late. */
export class SystemClock implements Clock {
  private offset = Date.now() - performance.now();
  private suspendedMs = 0;

  monotonicMs(): number {
    const running = performance.now();
    const offset = Date.now() - running;
    const ahead = offset - this.offset;
    if (ahead > SUSPENSION_MS) this.suspendedMs += ahead;
    this.offset = offset;
    return running + this.suspendedMs;
  }

  after(delayMs: number, callback: () => void, background = false): CancelTimer {
    let timer: NodeJS.Timeout;
    const wait = (leftMs: number) => {
      const next = leftMs > LONGEST_MS ? () => wait(leftMs - LONGEST_MS) : callback;
      timer = setTimeout(next, Math.min(leftMs, LONGEST_MS));
      if (background) timer.unref();
    };
    wait(Math.ceil(delayMs) + ROUNDING_MS);
    return () => clearTimeout(timer);
  }
}

/** Resolves after this time, or at once when the signal aborts. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const over = () => {
      cancel();
      signal.removeEventListener('abort', over);
      resolve();
    };
    const cancel = clock.after(delayMs, over);
    signal.addEventListener('abort', over, { once: true });
  });
}
