import { type CancelTimer, type Clock } from '../../src/common/clock.interface.js';

/** A clock that stands still until told otherwise. */
export class SimulatedClock implements Clock {
  private timers: { at: number; callback: () => void }[] = [];
  private monotonic = 0;

  constructor(private wall = Date.UTC(2026, 0, 1)) {}

  wallMs(): number {
    return this.wall;
  }

  monotonicMs(): number {
    return this.monotonic;
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    const timer = { at: this.monotonic + delayMs, callback };
    this.timers.push(timer);
    return () => void (this.timers = this.timers.filter((other) => other !== timer));
  }

  async turn(): Promise<void> {}

  /** Time passes while the process runs: timers fire in order, each at its own moment. */
  async advance(ms: number): Promise<void> {
    const until = this.monotonic + ms;
    for (;;) {
      const next = this.timers.filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.timers = this.timers.filter((timer) => timer !== next);
      this.moveTo(Math.max(next.at, this.monotonic));
      next.callback();
      await settled();
    }
    this.moveTo(until);
    await settled();
  }

  /** The process is stopped and continued: time has gone by and no timer fired in it. */
  async pause(ms: number): Promise<void> {
    this.moveTo(this.monotonic + ms);
    await this.advance(0);
  }

  /** An administrator sets the wall clock. */
  setWall(ms: number): void {
    this.wall = ms;
  }

  get pendingTimers(): number {
    return this.timers.length;
  }

  private moveTo(monotonic: number): void {
    this.wall += monotonic - this.monotonic;
    this.monotonic = monotonic;
  }
}

/** Lets every promise that can settle without time passing do so. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
}
