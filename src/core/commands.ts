import { type Asker } from './chunked-list.js';
import { type Moment } from './moment.js';
import {
  type AcquireResult,
  type Noted,
  type ReferenceResult,
  type ReleaseResult,
  type RenewResult,
} from './results.js';

interface OnKey {
  readonly type: string;
}

interface ByAsker extends OnKey {
  readonly asker: Asker;
  /** The asker's session is unknown, foreign or over. */
  readonly sessionEnded?: boolean | undefined;
}

export interface Acquire extends ByAsker {
  readonly kind: 'acquire';
  readonly subtype?: string | undefined;
  readonly leaseMs?: number | undefined;
  /** Of an earlier wait for this key by this node. */
  readonly ticket?: Moment | undefined;
  readonly absent?: boolean | undefined;
  /** The waiter was last written long ago: write it again, so that it is not dropped. */
  readonly touch?: boolean | undefined;
  /** The answer may not arrive: a dismissal it tells stays until a `spend` says that it was delivered. */
  readonly deliveredLater?: boolean | undefined;
  /** The instance that is asked, where there are several. */
  readonly at?: string | undefined;
}

export interface Release extends ByAsker {
  readonly kind: 'release';
  readonly token?: number | undefined;
  readonly success: boolean;
  /** Empty exactly for a success. */
  readonly error: string;
  readonly fatal: boolean;
}

export interface Renew extends ByAsker {
  readonly kind: 'renew';
  readonly token?: number | undefined;
  readonly leaseMs?: number | undefined;
}

/** A request that names the key without asking for it, or a long poll's delivered answer. */
export interface Claim extends OnKey {
  readonly kind: 'claim';
  readonly asker: Asker;
  /** As in `Acquire`. */
  readonly touch?: boolean | undefined;
}

/** Someone who waits is still there, though it asks for nothing. Claims nothing. */
export interface Touch extends OnKey {
  readonly kind: 'touch';
  readonly asker: Asker;
}

/** The outcome of a dismissal has reached its asker. */
export interface Spend extends OnKey {
  readonly kind: 'spend';
  readonly asker: Asker;
  readonly moment: Moment;
}

/** Leaves the queue; a hold not yet claimed counts as failed. */
export interface Withdraw extends OnKey {
  readonly kind: 'withdraw';
  readonly asker: Asker;
  /** Only this wait, or the hold it became. */
  readonly ticket?: Moment | undefined;
  /** Only while its latest long poll is this instance's. */
  readonly polledAt?: string | undefined;
  readonly error: string;
}

/** Ties the asker's hold or wait to its event stream. */
export interface Bind extends OnKey {
  readonly kind: 'bind';
  readonly asker: Asker;
  /** The instance where the stream is open. */
  readonly at: string;
}

/** Time is up for exactly this hold as it was last renewed, and, if that is given, for what is bound there. */
export interface ExpireHold extends OnKey {
  readonly kind: 'expire-hold';
  readonly token: number;
  readonly renewed: number;
  readonly boundAt?: string | undefined;
  readonly error: string;
}

/** Time is up for exactly this wait as it was last written. */
export interface ExpireWaiter extends OnKey {
  readonly kind: 'expire-waiter';
  readonly asker: Asker;
  readonly ticket: Moment;
  readonly renewed: number;
  readonly boundAt?: string | undefined;
  readonly error: string;
}

export interface EndSession extends OnKey {
  readonly kind: 'end-session';
  readonly asker: Asker;
  readonly error: string;
}

export interface ForceRelease extends OnKey {
  readonly kind: 'force-release';
  readonly token: number;
  readonly reason: string;
}

/** Drops what was remembered at or before this revision: its time is up. */
export interface Forget extends OnKey {
  readonly kind: 'forget';
  readonly upTo: number;
}

export interface AddReference {
  readonly kind: 'add-reference';
  readonly nodeId: string;
}

export interface ReleaseReference {
  readonly kind: 'release-reference';
  readonly nodeId: string;
}

export type Command =
  | Acquire
  | Release
  | Renew
  | Claim
  | Touch
  | Spend
  | Withdraw
  | Bind
  | ExpireHold
  | ExpireWaiter
  | EndSession
  | ForceRelease
  | Forget
  | AddReference
  | ReleaseReference;

export type ResultOf<C extends Command> = C extends Acquire
  ? AcquireResult
  : C extends Release | ForceRelease
    ? ReleaseResult
    : C extends Renew
      ? RenewResult
      : C extends AddReference | ReleaseReference
        ? ReferenceResult
        : Noted;
