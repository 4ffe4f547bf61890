import { type CancelTimer, type Clock } from './clock.interface.js';

export class SystemClock implements Clock {
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
}
