import { HoldfastError } from '../client/errors.js';
import { FATAL } from '../client/fatal.js';

export type ContentErrorCode =
  /** Not `sha256:` and 64 lower-case hexadecimal digits. Nothing was looked up. */
  | 'INVALID_DIGEST'
  /** A ref or node id that is empty, too long or no text. */
  | 'INVALID_NAME'
  | 'NOT_FOUND'
  /** The bytes are not what was asked for. Fatal if they are all from the source: nobody can do better with it. */
  | 'DIGEST_MISMATCH'
  /** Fewer bytes than were announced: the body broke off. They are kept, to be resumed. */
  | 'TOO_SHORT'
  | 'TOO_LONG'
  /** The store's disk is full, or a quota is. */
  | 'NO_SPACE'
  /** The store may not be written to. */
  | 'NOT_WRITABLE'
  /** Any other fault of the file system. */
  | 'IO'
  /** This process writes that ref already. */
  | 'REF_BUSY'
  /** Somebody uses it: not deleted. */
  | 'IN_USE'
  /** The server runs with `LOCK_ISOLATION=operation`, under which bytes cannot be removed safely. */
  | 'WRONG_ISOLATION'
  /** The server counts references and so does this side, or neither does. */
  | 'WRONG_COUNTING'
  /** The hold was lost, or a later holder has been here: nothing was published or removed. */
  | 'STALE'
  /** The writer was closed, or has failed. */
  | 'CLOSED';

const NO_SPACE = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
const NOT_WRITABLE = new Set(['EROFS', 'EACCES', 'EPERM']);

/** The one error of the content store: `code` for programs, the message for people, `cause` for the rest. */
export class ContentError extends Error {
  override readonly name = 'ContentError';
  /** Nobody can succeed: reported to the server as such, so that nobody tries in turn. */
  readonly [FATAL]: boolean;

  constructor(
    readonly code: ContentErrorCode,
    message: string,
    cause?: unknown,
    fatal = false,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this[FATAL] = fatal;
  }

  /** What the file system threw, said in the terms of the store; what the client threw says more than we could add. */
  static from(doing: string, cause: unknown): Error {
    if (cause instanceof ContentError || cause instanceof HoldfastError) return cause;
    const code = errnoOf(cause) ?? '';
    const why = cause instanceof Error ? cause.message : String(cause);
    if (NO_SPACE.has(code)) return new ContentError('NO_SPACE', `No space left ${doing}: ${why}`, cause);
    if (NOT_WRITABLE.has(code))
      return new ContentError('NOT_WRITABLE', `Not permitted ${doing}: ${why}`, cause);
    return new ContentError('IO', `The file system failed ${doing}: ${why}`, cause);
  }
}

/**
 * What a source of bytes (a registry) answered instead of them. 404 and 410 are fatal: no other node will find what is not there.
 * Everything else passes the lock on, also 401 and 403: another node may be let in.
 */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  readonly [FATAL]: boolean;

  constructor(
    /** 0: there was no answer, or it broke off. */
    readonly status: number,
    message: string,
    options: { readonly retryAfterMs?: number | undefined; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this[FATAL] = status === 404 || status === 410;
    this.retryAfterMs = options.retryAfterMs;
  }

  readonly retryAfterMs: number | undefined;

  /** Worth asking again by the same node, before the lock is passed on. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
