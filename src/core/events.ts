import { type Moment } from './moment.js';

export type EventName =
  | 'queued'
  | 'granted'
  /** A waiter was handed the lock. */
  | 'assigned'
  /** A run succeeded, or references made a waiting pull unnecessary. */
  | 'completed'
  /** A fatal failure, or a refusal of the whole queue. */
  | 'failed'
  /** A hold ended by silence: lease, claim, binding or session. */
  | 'expired'
  /** A waiter left the queue without being served. */
  | 'withdrawn'
  /** A hold ended by a reported failure or by force. */
  | 'released'
  | 'referenced'
  | 'unreferenced';

export interface LockEvent {
  readonly name: EventName;
  /** `<revision>.<n>`: the event's id. */
  readonly moment: Moment;
  /** Empty for events about references alone. */
  readonly type: string;
  /** Whom it is about: the worker, the new holder, the waiter, the referencing node. */
  readonly nodeId: string;
  readonly sessionId: string | undefined;
  readonly success: boolean;
  readonly error: string;
  readonly token: number | undefined;
  readonly atMs: number;
  /** Since when it had waited (granted, assigned, withdrawn) or held (the end of a run). */
  readonly sinceMs: number | undefined;
  /** How many waiters were sent away with this outcome. */
  readonly dismissed: number;
  /** After the event; null when the server does not count. */
  readonly referenceCount: number | null;
  /**
   * Only for observers of everything (`/events`), not for subscribers of the key: a `completed` that dismissed nobody
   * must not make a waiter believe that its work is done.
   */
  readonly observersOnly: boolean;
}

/** The error of an `expired` hold whose process ended its session in due form. Stored and sent as it is: do not change it. */
export const SESSION_ENDED = 'the session was ended';

/** Whether a hold ended with a session that was ended in due form: no silence, though the event has that name. */
export function endedWithSession({ name, error }: Pick<LockEvent, 'name' | 'error'>): boolean {
  return name === 'expired' && error === SESSION_ENDED;
}
