import {
  type Attempt,
  BadRequestError,
  type ErrorDetails,
  type HoldfastError,
  ProtocolError,
  QueueFullError,
  RefusedError,
  UnavailableError,
} from './errors.js';

/** How one try of a request ended. Nothing in it is trusted. */
export interface Reply {
  readonly url: string;
  /** On the client's clock, before the first byte left. */
  readonly sentAtMs: number;
  readonly ms: number;
  /** 0: there was no answer, and `cause` says why. */
  readonly status: number;
  /** The JSON that came; `undefined` where none could be read, and `cause` says why. */
  readonly body: unknown;
  readonly retryAfterMs: number | undefined;
  readonly cause: unknown;
  /** Earlier tries of the same call. */
  earlier?: readonly Attempt[];
}

export function attemptOf({ url, ms, status, cause }: Reply): Attempt {
  return { url, ms, ...(status > 0 && { status }), ...(cause !== undefined && { cause }) };
}

export function attemptsOf(reply: Reply): readonly Attempt[] {
  return [...(reply.earlier ?? []), attemptOf(reply)];
}

/** No answer, or none that helps: another server may do better. */
export function isUnavailable({ status }: Reply): boolean {
  return status === 0 || status >= 500;
}

/** Trying again may help: no answer, too many requests, a server in trouble. */
export function isRetriable({ status }: Reply): boolean {
  return status === 0 || status === 429 || status >= 500;
}

export function codeOf(reply: Reply): string | undefined {
  return textIn(reply.body, 'code');
}

function textIn(body: unknown, field: string): string | undefined {
  const text = isRecord(body) ? body[field] : undefined;
  return typeof text === 'string' ? text : undefined;
}

/** What a reply other than 200 means. */
export function errorOf(reply: Reply, request: ErrorDetails['request']): HoldfastError {
  const { status, body } = reply;
  const details = { request, attempts: attemptsOf(reply), cause: reply.cause, fact: textIn(body, 'error') };
  const code = codeOf(reply) ?? (status === 0 ? 'UNREACHABLE' : `HTTP_${status}`);
  const told = textIn(body, 'message');
  const message = told ?? (status === 0 ? noAnswer(reply) : `${reply.url} answered ${status}`);
  if (status === 0 || status >= 500) return new UnavailableError(code, message, details);
  if (code === 'QUEUE_FULL') return new QueueFullError(code, message, details);
  if (status === 429) return new UnavailableError(code, message, details);
  if (status === 400 || status === 413) return new BadRequestError(code, message, details);
  if (status > 400 && told !== undefined) return new RefusedError(code, message, details);
  return new ProtocolError(`${reply.url} answered ${status} in a form that is not Holdfast’s`, details);
}

/** The attempts have the whole of it; most people see the message alone. */
function noAnswer({ url, cause }: Reply): string {
  return `No answer from ${url} (${causeOf(cause)})`;
}

/** Of certificates that nobody here vouches for. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

/** `connect ECONNREFUSED 127.0.0.1:8086` and the like; where several addresses were tried, the error has only a code. */
export function causeOf(cause: unknown): string {
  const { message, code } = (cause ?? {}) as { message?: string; code?: string };
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'it does not speak TLS: is http:// meant?';
  if (code !== undefined && UNTRUSTED.has(code))
    return `${message}: name the authority behind it in NODE_EXTRA_CA_CERTS`;
  return message || code || 'it is not known why';
}

export type Json = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
