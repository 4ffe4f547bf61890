/** The gRPC codes this service answers with. */
export const CODE = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

export type Code = (typeof CODE)[keyof typeof CODE];

/** What a call is refused with; containerd's own errors are these codes. */
export class RpcError extends Error {
  override readonly name = 'RpcError';

  constructor(
    readonly code: Code,
    readonly details: string,
    cause?: unknown,
  ) {
    super(details, cause === undefined ? undefined : { cause });
  }
}

export const notFound = (what: string) => new RpcError(CODE.notFound, `${what}: not found`);
export const invalid = (why: string) => new RpcError(CODE.invalidArgument, why);
