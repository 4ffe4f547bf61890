export type RefCountErrorCode =
  /** The storage cannot be read or written now (a full disk, a lost connection, closed): try again. */
  | 'REFCOUNT_UNAVAILABLE'
  /** What is stored is not ours, is damaged, or was written by a version this one cannot read. */
  | 'REFCOUNT_UNREADABLE'
  /** The storage has no `listByNode`, or the setting names no storage we have. */
  | 'REFCOUNT_UNSUPPORTED';

/** The one error of reference counting: which operation failed, why, and what a person can do. */
export class RefCountError extends Error {
  override readonly name = 'RefCountError';

  constructor(
    readonly code: RefCountErrorCode,
    readonly operation: string,
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
  }

  /** Whatever a storage threw, as a `RefCountError`; one that is so already says more than we could add. */
  static from(operation: string, cause: unknown, storage = 'The reference-count storage'): RefCountError {
    if (cause instanceof RefCountError) return cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    return new RefCountError(
      'REFCOUNT_UNAVAILABLE',
      operation,
      `${storage} failed in ${operation}: ${why}`,
      cause,
    );
  }
}
