/**
 * Time as a parameter. Wall time is for stamps people read; deadlines use the monotonic clock, which no
 * administrator and no NTP step can move.
 */
export interface Clock {
  /** Milliseconds since the epoch; may jump either way. */
  wallMs(): number;
  /** Milliseconds since some fixed moment; never goes back. */
  monotonicMs(): number;
  /** Calls back once, not before `delayMs` have passed. Does not keep the process alive. */
  after(delayMs: number, callback: () => void): CancelTimer;
  /** Resolves when everything that has arrived by now has been read: at the end of this turn of the event loop. */
  turn(): Promise<void>;
}

export const CLOCK = Symbol('CLOCK');

export type CancelTimer = () => void;
