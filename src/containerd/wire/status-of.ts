import { HoldfastError, UnavailableError } from '../../client/index.js';
import { ContentError, type ContentErrorCode } from '../../content/index.js';
import { type RpcStatus } from '../grpc/answer-headers.js';
import { CODE, type Code, RpcError } from '../grpc/rpc-error.js';

const OF_CONTENT: Readonly<Record<ContentErrorCode, Code>> = {
  INVALID_DIGEST: CODE.invalidArgument,
  INVALID_NAME: CODE.invalidArgument,
  NOT_FOUND: CODE.notFound,
  DIGEST_MISMATCH: CODE.failedPrecondition,
  TOO_SHORT: CODE.failedPrecondition,
  TOO_LONG: CODE.failedPrecondition,
  NO_SPACE: CODE.resourceExhausted,
  NOT_WRITABLE: CODE.failedPrecondition,
  IO: CODE.internal,
  REF_BUSY: CODE.unavailable,
  IN_USE: CODE.failedPrecondition,
  WRONG_ISOLATION: CODE.failedPrecondition,
  WRONG_COUNTING: CODE.failedPrecondition,
  STALE: CODE.unavailable,
  CLOSED: CODE.unavailable,
};

/** What went wrong, in gRPC's terms. containerd tries again on UNAVAILABLE alone. */
export function statusOf(error: unknown): RpcStatus {
  const details = error instanceof Error ? error.message : String(error);
  return { code: codeOf(error), details };
}

function codeOf(error: unknown): Code {
  if (error instanceof RpcError) return error.code;
  if (error instanceof ContentError) return OF_CONTENT[error.code];
  if (error instanceof UnavailableError) return CODE.unavailable;
  if (error instanceof HoldfastError) return CODE.failedPrecondition;
  return CODE.internal;
}
