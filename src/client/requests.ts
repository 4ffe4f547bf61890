import { type HoldfastError } from './errors.js';
import { type Hold } from './hold.js';
import { type Key } from './key.js';

export interface LockRequest extends Key {
  /** The lane to wait in. */
  readonly subtype?: string | undefined;
  /** Ends the hold unless it is renewed by `renew` within this time, however alive this process is. */
  readonly leaseMs?: number | undefined;
  /** A pull that looked and did not find the bytes: references do not skip it. */
  readonly absent?: boolean | undefined;
  /** Of an earlier `queued` answer: a success since then is told. */
  readonly ticket?: string | undefined;
}

export interface LockOptions {
  /** Ends the wait; the queue is left. */
  readonly signal?: AbortSignal | undefined;
  /** The longest to wait, the time to reach the server included. 0: ask once, do not queue. `Infinity`: no limit. */
  readonly waitMs?: number | undefined;
}

/** Who did the work that is skipped, as far as it was told. */
export interface Doer {
  readonly nodeId: string;
  readonly completedAt?: string;
}

export interface LockResult {
  /** Do the work, then `unlock` with its outcome. */
  readonly acquired: boolean;
  /** Somebody else has done it. */
  readonly skipped: boolean;
  /** Why it is neither. */
  readonly error?: HoldfastError;
  /** Of an acquired lock. */
  readonly hold?: Hold;
  /** Of an acquired lock: `resource` if nothing else runs on the resource meanwhile, `operation` if other types may. */
  readonly isolation?: string;
  /** The server's own words. */
  readonly message?: string;
  readonly doneBy?: Doer;
}

export interface TryLockResult extends LockResult {
  /** Somebody else holds it, and this client stands in line: ask again with the ticket, or `cancel`. */
  readonly queued?: { readonly position: number; readonly ticket: string };
}

/** How the work ended. */
export type Outcome =
  | { readonly success: true }
  | {
      readonly success: false;
      readonly error?: string | undefined;
      /** Nobody can succeed: the waiters are sent away too. */
      readonly fatal?: boolean | undefined;
    };

export interface UnlockResult {
  readonly message: string;
  /** The node that the lock was handed to. */
  readonly nextHolder?: string;
}

export interface LockStatus {
  /** This client holds it. */
  readonly acquired: boolean;
  /** The work that was meant is over; `success` and `error` say how. */
  readonly completed: boolean;
  readonly success: boolean;
  readonly error?: string;
  readonly completedAt?: string;
  readonly held: boolean;
  readonly holder?: {
    readonly nodeId: string;
    readonly subtype?: string;
    readonly requestedAt: string;
    readonly acquiredAt: string;
    readonly token: number;
  };
  /** The place of this client in the queue, from 1. */
  readonly position?: number;
  readonly queueLength: number;
  /** `null`: the server does not count. */
  readonly referenceCount: number | null;
}

export interface References {
  readonly count: number;
  readonly nodes: readonly { readonly nodeId: string; readonly since?: string }[];
}
