import { UsageError } from '../failure.js';

/** What a process usually needs to tidy up. */
export const DEFAULT_KILL_AFTER_MS = 2000;

/** The server's own default. */
const USUAL_TTL_MS = 10_000;

/**
 * How much of a session's time to live (T) stopping the command may take (K).
 *
 * The server gives the lock away T after the last renewal that it saw. The client counts on 0.9 T from *sending* that
 * renewal, and `stopWithinMs` moves this forward by K: SIGTERM goes out at 0.9 T - K at the latest, SIGKILL at 0.9 T, and
 * a tenth of T is left for late timers. A renewal is sent at T/3 and, until one is answered, again every T/12, whatever
 * became of those before. With K up to a fifth of T nobody is stopped before 0.7 T: by then five have been sent, the last
 * at 2T/3, and any four of them may go astray.
 */
const SHARE = 5;

/** The time to live to ask for; what is too short for stopping in time is refused. */
export function sessionTtlFor(killAfterMs: number, wantedMs: number | undefined): number {
  if (wantedMs === undefined) return Math.max(USUAL_TTL_MS, killAfterMs * SHARE);
  if (killAfterMs * SHARE <= wantedMs) return wantedMs;
  throw new UsageError(
    `The command could not be stopped before its lock is given away: --kill-after may be at most a fifth of ` +
      `--session-ttl, here ${Math.floor(wantedMs / SHARE)} ms. Raise --session-ttl to ${killAfterMs * SHARE} or leave it out.`,
  );
}
