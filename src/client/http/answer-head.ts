/** What the head of an answer says, as far as this client cares. */
export interface AnswerHead {
  readonly status: number;
  /** Empty where it is not said. */
  readonly contentType: string;
  readonly retryAfter: string | undefined;
  /** Bytes of the body, where that is said. */
  readonly contentLength: number | undefined;
  readonly isChunked: boolean;
  /** Another request may be sent on the same connection. */
  readonly keepsAlive: boolean;
  /** How long the server keeps an idle connection, where it says so. */
  readonly keepAliveMs: number | undefined;
}

/** The other end does not answer as HTTP/1.1 would. */
export class NotHttpError extends Error {
  override readonly name = 'NotHttpError';

  constructor(what: string) {
    super(`the answer is not HTTP/1.1: ${what}`);
  }
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |$)/;
const LENGTH = /^\d{1,15}$/;
const TIMEOUT = /(?:^|[ ,])timeout=(\d{1,7})(?:$|[ ,])/i;

/** Of the text up to the empty line. Throws a `NotHttpError`. */
export function readAnswerHead(text: string): AnswerHead {
  const firstEnd = lineEnd(text, 0);
  const statusLine = STATUS_LINE.exec(text.slice(0, firstEnd));
  if (!statusLine) throw new NotHttpError('it does not begin with a status');
  let contentType = '';
  let retryAfter: string | undefined;
  let contentLength: number | undefined;
  let isChunked = false;
  let keepsAlive = statusLine[1] === '1';
  let keepAliveMs: number | undefined;
  for (let start = firstEnd + 2; start < text.length;) {
    const end = lineEnd(text, start);
    const colon = text.indexOf(':', start);
    if (colon <= start || colon > end) throw new NotHttpError('a header has no name');
    switch (text.slice(start, colon).toLowerCase()) {
      case 'content-type':
        contentType = text.slice(colon + 1, end).trim();
        break;
      case 'retry-after':
        retryAfter = text.slice(colon + 1, end).trim();
        break;
      case 'content-length':
        contentLength = lengthOf(text.slice(colon + 1, end).trim(), contentLength);
        break;
      case 'transfer-encoding':
        if (
          text
            .slice(colon + 1, end)
            .trim()
            .toLowerCase() !== 'chunked' ||
          isChunked
        )
          throw new NotHttpError('its transfer encoding is not known');
        isChunked = true;
        break;
      case 'connection':
        keepsAlive = keepsAliveBy(text.slice(colon + 1, end).toLowerCase(), keepsAlive);
        break;
      case 'keep-alive':
        keepAliveMs = keepAliveOf(text.slice(colon + 1, end));
    }
    start = end + 2;
  }
  const status = Number(statusLine[2]);
  return { status, contentType, retryAfter, contentLength, isChunked, keepsAlive, keepAliveMs };
}

function lineEnd(text: string, start: number): number {
  const end = text.indexOf('\r\n', start);
  return end < 0 ? text.length : end;
}

/** Two lengths that differ are two answers to somebody else on the way. */
function lengthOf(value: string, before: number | undefined): number {
  const length = Number(value);
  if (!LENGTH.test(value) || (before !== undefined && before !== length))
    throw new NotHttpError('its length is not a number');
  return length;
}

function keepsAliveBy(connection: string, otherwise: boolean): boolean {
  if (connection.includes('close')) return false;
  return otherwise || connection.includes('keep-alive');
}

function keepAliveOf(value: string): number | undefined {
  const seconds = TIMEOUT.exec(value)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
