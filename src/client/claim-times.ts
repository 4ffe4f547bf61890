import { type Session } from './session.js';

/** The part of the claim time after which the lock is claimed, and which must then be left for that. */
const CLAIM_PART = 1 / 3;

/** When a lock that was handed over is claimed, and up to when it can be counted on without that. */
export interface ClaimTimes {
  readonly claimAtMs: number;
  readonly validUntilMs: number;
}

/**
 * The server gives a lock that nobody claims to the next one. When it began to wait for that is not known here, but it
 * was after the request was sent that was answered with a place in the queue. `undefined`: too much of the time may be
 * gone, the server is to be asked first.
 */
export function claimTimes(session: Session, queuedSentAtMs: number, nowMs: number): ClaimTimes | undefined {
  const { claimWithinMs } = session;
  if (claimWithinMs === Infinity) return { claimAtMs: Infinity, validUntilMs: Infinity };
  const partMs = claimWithinMs * CLAIM_PART;
  const claimAtMs = queuedSentAtMs + partMs;
  const validUntilMs = session.endOf(queuedSentAtMs, claimWithinMs);
  if (nowMs >= claimAtMs || validUntilMs < claimAtMs + partMs) return undefined;
  return { claimAtMs, validUntilMs };
}
