import { type Clock, type CancelTimer } from './clock.js';
import { HoldLostError } from './errors.js';
import { type Key } from './key.js';
import { type Session } from './session.js';

/** The right to run one operation now. */
export interface Hold extends Key {
  /** The fencing token: larger than that of every earlier holder. Give it to whatever stores the result. */
  readonly token: number;
  /**
   * Aborts *before* the hold can have ended on the server: counted on this process's own clock from the sending of
   * the last answered renewal. Its reason is a `HoldLostError`.
   */
  readonly signal: AbortSignal;
  /** Looks at the clock: true also when no timer could fire, because the process was stopped or blocked. */
  readonly isLost: boolean;
}

/** A hold as this client keeps it. */
export class HeldLock implements Hold {
  private controller: AbortController | undefined;
  private loss: HoldLostError | undefined;
  private leaseUntilMs = Infinity;
  private cancelTimer: CancelTimer | undefined;
  /** Its unlock is under way or done: it cannot be lost any more, only refused. */
  private isSettled = false;

  constructor(
    readonly type: string,
    readonly resourceId: string,
    readonly token: number,
    readonly session: Session,
    private readonly clock: Clock,
    private readonly onLost: (hold: HeldLock) => void,
  ) {
    session.holds.add(this);
  }

  get isLost(): boolean {
    if (!this.loss && !this.isSettled) this.look();
    return this.loss !== undefined;
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.isLost) this.controller.abort(this.loss);
    return this.controller.signal;
  }

  /** Why it was lost. */
  get lossError(): HoldLostError {
    return this.loss ?? new HoldLostError('it was released');
  }

  /** A lease of its own, as last answered; 0: it has none. */
  leaseFrom(sentAtMs: number, leaseMs: number): void {
    this.cancelTimer?.();
    this.leaseUntilMs = leaseMs === 0 ? Infinity : this.session.endOf(sentAtMs, leaseMs);
    if (leaseMs === 0 || this.isSettled) return;
    const leftMs = this.leaseUntilMs - this.clock.monotonicMs();
    this.cancelTimer = this.clock.after(leftMs, () => this.look(), true);
  }

  lose(why: string): void {
    if (this.loss || this.isSettled) return;
    this.forget();
    this.loss = new HoldLostError(why);
    this.controller?.abort(this.loss);
    this.onLost(this);
  }

  /** From here on what the server says counts. */
  settle(): void {
    this.isSettled = true;
    this.forget();
  }

  /** Asks the work to stop although the hold is not lost. */
  interrupt(reason: unknown): void {
    this.controller ??= new AbortController();
    this.controller.abort(reason);
  }

  private look(): void {
    const now = this.clock.monotonicMs();
    if (now >= this.leaseUntilMs) this.lose('its lease ran out');
    else if (now >= this.session.validUntilMs) this.lose('the session was not renewed in time');
  }

  private forget(): void {
    this.cancelTimer?.();
    this.session.holds.delete(this);
  }
}
