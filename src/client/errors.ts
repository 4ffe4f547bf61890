import { type Key } from './key.js';

/** One try of a request. */
export interface Attempt {
  readonly url: string;
  /** How long it took. */
  readonly ms: number;
  /** What it was answered with, if it was. */
  readonly status?: number;
  /** Why there was no answer, or none that could be read. */
  readonly cause?: unknown;
}

/** What was asked. */
export interface SentRequest {
  readonly method: string;
  readonly path: string;
  /** As it was sent; a call that travelled in a batch has its own part here. */
  readonly body?: string;
}

export interface ErrorDetails {
  readonly request?: SentRequest | undefined;
  readonly attempts?: readonly Attempt[] | undefined;
  readonly cause?: unknown;
  /** What the server said, without its advice. */
  readonly fact?: string | undefined;
}

/** Everything that `LockClient` itself complains about. */
export class HoldfastError extends Error {
  override readonly name: string = 'HoldfastError';
  readonly request: SentRequest | undefined;
  /** Every try that was made, the last one included. */
  readonly attempts: readonly Attempt[];

  constructor(
    /** For programs: the server's code, or one of this client's own. */
    readonly code: string,
    message: string,
    { request, attempts = [], cause }: ErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.request = request;
    this.attempts = attempts;
  }
}

/** The server said no: `RESOURCE_IN_USE`, `OPERATION_FAILED`, `LOCK_HELD` … Asking again would not help now. */
export class RefusedError extends HoldfastError {
  override readonly name = 'RefusedError';
  /** Why, in the server's words; the message has its advice, too. */
  readonly fact: string;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(code, message, details);
    this.fact = details.fact ?? message;
  }
}

/** The request is not in order: a defect of the caller. */
export class BadRequestError extends HoldfastError {
  override readonly name = 'BadRequestError';
}

/** Too many wait already. */
export class QueueFullError extends HoldfastError {
  override readonly name = 'QueueFullError';
}

/** No server answered, or none could: the outcome of the request is not known. */
export class UnavailableError extends HoldfastError {
  override readonly name = 'UnavailableError';
}

/** What was answered is not what Holdfast answers. */
export class ProtocolError extends HoldfastError {
  override readonly name = 'ProtocolError';

  constructor(message: string, details?: ErrorDetails) {
    super('PROTOCOL', message, details);
  }
}

/** The hold is gone, or may be: somebody else may do the work now. The result must not be used. */
export class HoldLostError extends HoldfastError {
  override readonly name = 'HoldLostError';

  constructor(
    readonly why: string,
    details?: ErrorDetails,
  ) {
    super('HOLD_LOST', `The hold was lost: ${why}`, details);
  }
}

/** `waitMs` is over. */
export class WaitTimeoutError extends HoldfastError {
  override readonly name = 'WaitTimeoutError';

  constructor(waitMs: number, { type, resourceId }: Key, details?: ErrorDetails) {
    super(
      'WAIT_TIMEOUT',
      `${type} ${resourceId} was not granted within ${waitMs} ms; it leaves the queue.`,
      details,
    );
  }
}

/** The client was closed. */
export class ClosedError extends HoldfastError {
  override readonly name = 'ClosedError';

  constructor(details?: ErrorDetails) {
    super('CLIENT_CLOSED', 'The client was closed.', details);
  }
}
