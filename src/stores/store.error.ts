export type StoreErrorCode =
  /** The engine cannot be reached or cannot write now (a full disk): try again. */
  | 'STORE_UNAVAILABLE'
  /** The directory or database is not ours, is damaged, or was written by a version this one cannot read. */
  | 'STORE_UNREADABLE'
  /** Another process serves this state. */
  | 'STORE_IN_USE'
  /** A value or key over the port's limits, no write at all, or two of one key: a defect of the caller. */
  | 'STORE_LIMIT';

/** The one error of every engine: which operation failed, why, and what a person can do. Nothing was written. */
export class StoreError extends Error {
  override readonly name = 'StoreError';

  constructor(
    readonly code: StoreErrorCode,
    readonly operation: string,
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}
