import { Bag, type Kept } from './bag.js';
import { type Clock } from './clock.js';

/** A hold, as far as its session knows it. */
export interface Losable extends Kept {
  lose(why: string): void;
}

/**
 * The part of a time to live that this client counts on. The rest is for timers that fire late and clocks that do not
 * run alike.
 */
const SAFE_PART = 0.9;

/** A session as this client knows it. What it holds is valid up to `validUntilMs` and not a moment longer. */
export class Session {
  readonly holds = new Bag<Losable>();
  validUntilMs = -Infinity;
  /** How long the server waits for a word about a lock that it has handed over. 0: not known. */
  claimWithinMs = 0;
  /** Nothing is asked in its name any more. */
  isOver = false;

  constructor(
    readonly id: string,
    readonly ttlMs: number,
    /** Node and session, as every request names them. */
    readonly identity: string,
    answeredSentAtMs: number,
    /** What work under its holds needs to stop. */
    readonly stopWithinMs = 0,
  ) {
    this.renewedBy(answeredSentAtMs);
  }

  /** An answered renewal counts from when it was sent. False: a later one was answered before. */
  renewedBy(sentAtMs: number): boolean {
    const untilMs = this.endOf(sentAtMs, this.ttlMs);
    if (untilMs <= this.validUntilMs) return false;
    this.validUntilMs = untilMs;
    return true;
  }

  /** When something that lasts for this long is to be given up. */
  endOf(sentAtMs: number, ttlMs: number): number {
    return sentAtMs + ttlMs * SAFE_PART - this.stopWithinMs;
  }

  loseHolds(why: string): void {
    for (const hold of this.holds) hold.lose(why);
  }
}

/**
 * Gives something up when work that was told to stop has had its time: until then the server is to keep the lock from
 * everybody else, although this client does not count on it any more.
 */
export function onceStopped(clock: Clock, { stopWithinMs }: Session, giveUp: () => void): void {
  if (stopWithinMs === 0) giveUp();
  else clock.after(stopWithinMs, giveUp, true);
}
