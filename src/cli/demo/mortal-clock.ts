import { type CancelTimer, type Clock, SystemClock } from '../../client/index.js';

/** A clock that can stop for good: whoever lives by it goes silent, as a process does that has crashed. */
export class MortalClock implements Clock {
  private readonly clock = new SystemClock();
  private isStopped = false;

  monotonicMs(): number {
    return this.clock.monotonicMs();
  }

  after(delayMs: number, callback: () => void, background?: boolean): CancelTimer {
    return this.clock.after(delayMs, () => this.isStopped || callback(), background);
  }

  stop(): void {
    this.isStopped = true;
  }
}
