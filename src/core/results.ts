import { type Moment } from './moment.js';

/** Why a request was turned down. The HTTP layer maps each to a status. */
export type RefusalCode =
  | 'RESOURCE_IN_USE'
  | 'OPERATION_FAILED'
  | 'LOCK_HELD'
  | 'QUEUE_FULL'
  | 'TOO_MANY_TYPES'
  | 'LOCK_NOT_FOUND'
  | 'NOT_HOLDER'
  | 'STALE_TOKEN'
  | 'SESSION_NOT_FOUND'
  | 'REFCOUNT_DISABLED';

export interface Refused {
  readonly kind: 'refused';
  readonly code: RefusalCode;
  readonly error: string;
}

export type AcquireResult =
  | {
      readonly kind: 'acquired';
      readonly token: number;
      readonly leaseMs: number;
      readonly referenceCount: number | null;
    }
  | {
      readonly kind: 'skipped';
      /** Who did the work, and when, as far as it is known. */
      readonly nodeId: string;
      readonly atMs: number | undefined;
      /** It had been sent away with a success before it asked. */
      readonly wasDismissed: boolean;
      readonly referenceCount: number | null;
    }
  | {
      readonly kind: 'queued';
      readonly position: number;
      readonly ticket: Moment;
      readonly referenceCount: number | null;
    }
  | Refused;

export type ReleaseResult = { readonly kind: 'released'; readonly nextHolder: string | undefined } | Refused;

export type RenewResult =
  { readonly kind: 'renewed'; readonly token: number; readonly leaseMs: number } | Refused;

export type ReferenceResult = { readonly kind: 'counted'; readonly count: number } | Refused;

/** Of commands that say something to the core and ask nothing. `changed` tells whether they still applied. */
export interface Noted {
  readonly kind: 'noted';
  readonly changed: boolean;
}

export type Result = AcquireResult | ReleaseResult | RenewResult | ReferenceResult | Noted;
