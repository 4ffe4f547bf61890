import { type CancelTimer, type Clock } from './clock.interface.js';

export class SystemClock implements Clock {
  private thisTurn: Promise<void> | undefined;

  wallMs(): number {
    return Date.now();
  }

  monotonicMs(): number {
    return performance.now();
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    const timer = setTimeout(callback, delayMs).unref();
    return () => clearTimeout(timer);
  }

  turn(): Promise<void> {
    return (this.thisTurn ??= new Promise((resolve) =>
      setImmediate(() => {
        this.thisTurn = undefined;
        resolve();
      }),
    ));
  }
}
