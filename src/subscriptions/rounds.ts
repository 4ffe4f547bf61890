import { type CancelTimer, type Clock } from '../common/clock.interface.js';

/**
 * Visits each member once in every period, counted from when it was added. All have the same period, so that one timer and a
 * queue in order of arrival serve any number of them.
 */
export class Rounds<T> {
  /** When each is due, the next one first. */
  private readonly dueMs = new Map<T, number>();
  private cancelTimer: CancelTimer | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly periodMs: number,
    private readonly visit: (member: T) => void,
  ) {}

  add(member: T): void {
    this.dueMs.set(member, this.clock.monotonicMs() + this.periodMs);
    if (!this.cancelTimer) this.arm();
  }

  delete(member: T): void {
    this.dueMs.delete(member);
    if (this.dueMs.size > 0) return;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
  }

  private arm(): void {
    const [nextMs] = this.dueMs.values();
    if (nextMs === undefined) return;
    const delayMs = Math.max(0, Math.ceil(nextMs - this.clock.monotonicMs()));
    this.cancelTimer = this.clock.after(delayMs, () => this.fire());
  }

  private fire(): void {
    this.cancelTimer = undefined;
    const nowMs = this.clock.monotonicMs();
    for (const [member, dueMs] of this.dueMs) {
      if (dueMs > nowMs) break;
      this.dueMs.delete(member);
      this.dueMs.set(member, nowMs + this.periodMs);
      this.visit(member);
    }
    if (!this.cancelTimer) this.arm();
  }
}
