import { type ClaimTimes } from './claim-times.js';
import { type Clock, type CancelTimer } from './clock.js';
import { HoldLostError, type SentRequest } from './errors.js';
import { type Key } from './key.js';
import { type Losable, type Session } from './session.js';

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
export class HeldLock implements Hold, Losable {
  place = -1;
  private controller: AbortController | undefined;
  private loss: HoldLostError | undefined;
  private leaseUntilMs = Infinity;
  /** Of one that was handed over: until the server has heard of it. */
  private unclaimedUntilMs = Infinity;
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

  /** Of work that ended when it was lost. */
  lossAfter(cause: unknown): HoldLostError {
    return new HoldLostError(`${this.loss!.why}; the work ended after that`, { cause });
  }

  /** Why a request that needs it was not sent. */
  lossFor(request: SentRequest): HoldLostError {
    return new HoldLostError(this.loss?.why ?? 'it was released', { request, cause: this.loss });
  }

  get hasLease(): boolean {
    return this.leaseUntilMs !== Infinity;
  }

  /** A lease of its own, as last answered; 0: it has none. */
  leaseFrom(sentAtMs: number, leaseMs: number): void {
    this.claimed();
    this.cancelTimer?.();
    this.leaseUntilMs = leaseMs === 0 ? Infinity : this.session.endOf(sentAtMs, leaseMs);
    if (leaseMs > 0) this.at(this.leaseUntilMs, () => this.look());
  }

  /** It was handed over, and is lost unless the server hears of it in time: `claim` is called for that. */
  handedOver({ claimAtMs, validUntilMs }: ClaimTimes, claim: (hold: HeldLock) => void): void {
    if (validUntilMs === Infinity) return;
    this.unclaimedUntilMs = validUntilMs;
    this.at(claimAtMs, () => {
      this.at(validUntilMs, () => this.look());
      claim(this);
    });
  }

  /** The server has heard of it. */
  claimed(): void {
    if (this.unclaimedUntilMs === Infinity) return;
    this.unclaimedUntilMs = Infinity;
    this.cancelTimer?.();
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

  /** What a person sees who prints it. */
  [Symbol.for('nodejs.util.inspect.custom')](): Omit<Hold, 'signal'> {
    const { type, resourceId, token, isLost } = this;
    return { type, resourceId, token, isLost };
  }

  private at(atMs: number, callback: () => void): void {
    if (this.isSettled) return;
    this.cancelTimer = this.clock.after(atMs - this.clock.monotonicMs(), callback, true);
  }

  private look(): void {
    const now = this.clock.monotonicMs();
    if (now >= this.leaseUntilMs) this.lose('its lease ran out');
    else if (now >= this.unclaimedUntilMs) this.lose('it could not be claimed in time');
    else if (now >= this.session.validUntilMs) this.lose('the session was not renewed in time');
  }

  private forget(): void {
    this.cancelTimer?.();
    this.session.holds.delete(this);
  }
}
