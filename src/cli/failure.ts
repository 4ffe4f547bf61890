import { CommanderError } from 'commander';
import {
  BadRequestError,
  HoldLostError,
  ProtocolError,
  QueueFullError,
  RefusedError,
  UnavailableError,
} from '../client/index.js';
import { causeOf } from '../client/reply.js';
import { EXIT } from './exit-codes.js';
import { refusalWords } from './refusal-words.js';
import { NotGranted } from './run/lock-wait.js';
import { Interrupted } from './run/signals.js';

/** Something that was asked for in a way that cannot be done. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly code = 'USAGE';
}

/** There are servers, and none can take requests. */
export class NotReadyError extends Error {
  override readonly name = 'NotReadyError';

  constructor(
    readonly code: string,
    message: string,
    /** What programs are told beside the error. */
    readonly document: object,
  ) {
    super(message);
  }
}

/** What a command has done is done, and the server does not know. */
export class NotReported extends Error {
  override readonly name = 'NotReported';

  constructor(
    override readonly cause: unknown,
    /** What programs are told beside the error. */
    readonly document: object,
  ) {
    super('The command succeeded, but that could not be reported.');
  }
}

/** How a command ends that could not do what it was there for. */
export interface Failure {
  readonly exitCode: number;
  readonly code: string;
  readonly message: string;
  /** What is behind it, where programs may want to know. */
  readonly cause?: { readonly code: string; readonly message: string };
  /** Beside the error, where there is more to tell. */
  readonly document?: object;
}

/** Where nothing answers that is Holdfast. */
export const FIND_A_SERVER =
  'Start one with "holdfast serve", or name another with --server or HOLDFAST_URL.';

export function failureOf(error: unknown): Failure {
  if (error instanceof CommanderError) return failureOf(new UsageError(error.message.replace('error: ', '')));
  if (error instanceof NotReported) {
    const failure = failureOf(error.cause);
    return { ...failure, message: `${error.message}\n${failure.message}`, document: error.document };
  }
  const { code = 'FAILED' } = error as { code?: string };
  const document = error instanceof NotReadyError ? error.document : undefined;
  const failure = { exitCode: exitCodeOf(error), code, message: messageOf(error) };
  if (error instanceof NotGranted && error.cause) return { ...failure, ...because(failure, error.cause) };
  return { ...failure, ...(document && { document }) };
}

function because({ message }: Failure, behind: unknown): Pick<Failure, 'message' | 'cause'> {
  const cause = failureOf(behind);
  return { message: `${message}\n${cause.message}`, cause: { code: cause.code, message: cause.message } };
}

function messageOf(error: unknown): string {
  if (isUnreachable(error)) return unreachable(error);
  if (error instanceof RefusedError) return refusalWords(error);
  const { code, message = String(error) } = error as { code?: string; message?: string };
  return isStranger(error) ? stranger(message, code) : message;
}

function exitCodeOf(error: unknown): number {
  if (error instanceof Interrupted) return error.exitCode;
  if (error instanceof UsageError || error instanceof BadRequestError) return EXIT.usage;
  if (error instanceof HoldLostError) return EXIT.holdLost;
  if (error instanceof NotGranted || error instanceof QueueFullError) return EXIT.tryAgain;
  if (error instanceof RefusedError && error.code === 'LOCK_HELD') return EXIT.tryAgain;
  if (error instanceof NotReadyError) return EXIT.unreachable;
  if (error instanceof UnavailableError || error instanceof ProtocolError) return EXIT.unreachable;
  return EXIT.failed;
}

/** Somebody answers who is not Holdfast: it has a code of its own for everything. */
export function isStranger(error: unknown): boolean {
  return (
    error instanceof ProtocolError || (error instanceof UnavailableError && error.code.startsWith('HTTP_'))
  );
}

/** What a proxy says of its own when it reaches nobody. */
const BEHIND_A_PROXY: ReadonlySet<string | undefined> = new Set(['HTTP_502', 'HTTP_503', 'HTTP_504']);

export function isProxyAlone(code: string | undefined): boolean {
  return BEHIND_A_PROXY.has(code);
}

function stranger(message: string, code: string | undefined): string {
  if (isProxyAlone(code))
    return `${message}.\nA proxy answers there and reaches no Holdfast server behind it: are they up and ready?`;
  return `${message}.\nSomething that is not Holdfast answers there: name another with --server or HOLDFAST_URL.`;
}

export function isUnreachable(error: unknown): error is UnavailableError {
  return error instanceof UnavailableError && error.code === 'UNREACHABLE';
}

function unreachable({ attempts }: UnavailableError): string {
  const causes = new Map(attempts.map(({ url, cause }) => [url, causeOf(cause)]));
  const tried = [...causes].map(([url, cause]) => `${url} (${cause})`).join(', ');
  return `No Holdfast server answers at ${tried}.\n${FIND_A_SERVER}`;
}
