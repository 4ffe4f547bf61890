import { HttpException } from '@nestjs/common';
import { type RefusalCode, type Refused } from '../../core/results.js';

const STATUS: Record<RefusalCode, number> = {
  RESOURCE_IN_USE: 403,
  OPERATION_FAILED: 403,
  LOCK_HELD: 403,
  LOCK_NOT_FOUND: 403,
  NOT_HOLDER: 403,
  STALE_TOKEN: 403,
  SESSION_NOT_FOUND: 403,
  QUEUE_FULL: 429,
  TOO_MANY_TYPES: 429,
  REFCOUNT_DISABLED: 409,
};

/** What a person can do about it. */
const ADVICE: Record<RefusalCode, string> = {
  RESOURCE_IN_USE: 'Release the references first (GET /refcounts shows whose they are).',
  OPERATION_FAILED: 'The node that did the work says that nobody can succeed; asking again starts a new try.',
  LOCK_HELD: 'Ask again later.',
  LOCK_NOT_FOUND:
    'It was released, it expired, or it was never granted: check GET /lock/status before working on.',
  NOT_HOLDER: 'Only its holder can release or renew it; send the session_id or the token you were given.',
  STALE_TOKEN: 'The lock has passed on since you were granted it: stop the work, do not publish its result.',
  SESSION_NOT_FOUND: 'Open a new session (POST /sessions); everything the old one held has been given up.',
  QUEUE_FULL: 'Ask again later, or raise MAX_QUEUE_LENGTH.',
  TOO_MANY_TYPES: 'Use fewer operation types on one resource.',
  REFCOUNT_DISABLED: 'Ask the content side, or set REFCOUNT_MODE=server.',
};

export interface RefusalBody {
  readonly error: string;
  readonly code: RefusalCode;
  readonly message: string;
}

function refusalStatus({ code }: Refused): number {
  return STATUS[code];
}

export function refusalBody({ code, error }: Refused, advice = ADVICE[code]): RefusalBody {
  // What a node has said of its failure is quoted as it said it.
  const isQuoted = code === 'OPERATION_FAILED';
  const sentence = isQuoted ? `The work failed: ${error}` : error.charAt(0).toUpperCase() + error.slice(1);
  return { error, code, message: `${sentence}. ${advice}` };
}

/**
 * The refusal as what Nest throws; `shape` are the fields its endpoint promises beside the error, `advice` what to do about
 * it if that is not the same for everybody who meets the code.
 */
export function refusal(refused: Refused, shape: object = {}, advice?: string): HttpException {
  return new HttpException({ ...shape, ...refusalBody(refused, advice) }, refusalStatus(refused));
}
