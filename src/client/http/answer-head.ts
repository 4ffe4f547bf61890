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
const LENGTH = /^[ \t]*(\d{1,15})[ \t]*$/;
const CHUNKED = /^[ \t]*chunked[ \t]*$/i;
const TIMEOUT = /(?:^|[ ,])timeout=(\d{1,7})(?:$|[ ,])/i;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;

/** Of the text up to the empty line. Throws a `NotHttpError`. */
export function readAnswerHead(text: string): AnswerHead {
  const firstEnd = lineEnd(text, 0);
  const statusLine = STATUS_LINE.exec(text.slice(0, firstEnd));
  if (!statusLine) throw new NotHttpError('it does not begin with a status');
  let contentType = '';
  let retryAfter: string | undefined;
  let contentLength: number | undefined;
  let isChunked = false;
  let connection = '';
  let keepAliveMs: number | undefined;
  for (let start = firstEnd + 2; start < text.length;) {
    const end = lineEnd(text, start);
    const colon = text.indexOf(':', start);
    if (colon > end || !isName(text, start, colon)) throw new NotHttpError('a header has no name');
    switch (text.slice(start, colon).toLowerCase()) {
      case 'content-type':
        contentType = text.slice(colon + 1, end).trim();
        break;
      case 'retry-after':
        retryAfter = text.slice(colon + 1, end).trim();
        break;
      case 'content-length':
        contentLength = lengthOf(text.slice(colon + 1, end), contentLength);
        break;
      case 'transfer-encoding':
        if (isChunked || !CHUNKED.test(text.slice(colon + 1, end)))
          throw new NotHttpError('its transfer encoding is not known');
        isChunked = true;
        break;
      case 'connection':
        connection += text.slice(colon + 1, end).toLowerCase();
        break;
      case 'keep-alive':
        keepAliveMs = keepAliveOf(text.slice(colon + 1, end));
    }
    start = end + 2;
  }
  if (isChunked && contentLength !== undefined) throw new NotHttpError('it says its length in two ways');
  const status = Number(statusLine[2]);
  const keepsAlive = keepsAliveBy(connection, statusLine[1] === '1');
  return { status, contentType, retryAfter, contentLength, isChunked, keepsAlive, keepAliveMs };
}

/** What one reader takes for a line and another for a part of one hides a header from one of them. */
function lineEnd(text: string, start: number): number {
  const lineFeed = text.indexOf('\n', start);
  if (lineFeed < 0) return text.length;
  if (text.charCodeAt(lineFeed - 1) === CARRIAGE_RETURN) return lineFeed - 1;
  throw new NotHttpError('a line of its head has no proper end');
}

/** Spaces before it make it a part of the line above, for some; spaces after it another name. */
function isName(text: string, start: number, end: number): boolean {
  return end > start && text.charCodeAt(start) > SPACE && text.charCodeAt(end - 1) > SPACE;
}

/** Two lengths that differ are two answers to somebody else on the way. */
function lengthOf(value: string, before: number | undefined): number {
  const length = Number(LENGTH.exec(value)?.[1]);
  // NaN is not even equal to itself.
  if (length === (before ?? length)) return length;
  throw new NotHttpError('its length is not a number');
}

function keepsAliveBy(connection: string, otherwise: boolean): boolean {
  return !connection.includes('close') && (otherwise || connection.includes('keep-alive'));
}

function keepAliveOf(value: string): number | undefined {
  const seconds = TIMEOUT.exec(value)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
