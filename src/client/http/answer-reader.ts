import { type AnswerHead, NotHttpError, readAnswerHead } from './answer-head.js';
import { ChunkedBody } from './chunked-body.js';

/**
 * Whoever asked. After `onEnd` or `onError` nothing more is said; after it has abandoned its request, nothing but what had been read by
 * then.
 */
export interface AnswerListener {
  onHead(head: AnswerHead): void;
  /** The bytes are there only during the call. */
  onData(bytes: Buffer): void;
  onEnd(): void;
  onError(cause: Error): void;
}

/** Nobody sends more; Node's own limit is 16 KB. */
const MAX_HEAD_BYTES = 64 * 1024;

/** Holdfast's own heads are shorter; of a longer one all is looked at. */
const USUAL_HEAD_BYTES = 1024;

const END_OF_HEAD = '\r\n\r\n';
const BEGINNING = 'HTTP/1.';

/**
 * One answer, read from the bytes of a connection. Promises: what it passes on is what the answer's own length or chunks say,
 * never what follows them. It throws a `NotHttpError` for bytes that are no answer.
 */
export class AnswerReader {
  head: AnswerHead | undefined;
  private begun: Buffer | undefined;
  private left = 0;
  private chunks: ChunkedBody | undefined;

  constructor(private readonly listener: Pick<AnswerListener, 'onHead' | 'onData'>) {}

  /** Of these bytes, where the answer ends, or -1: there is more to come. */
  take(bytes: Buffer): number {
    if (this.head) return this.takeBody(bytes, 0);
    const all = this.begun ? Buffer.concat([this.begun, bytes]) : bytes;
    const already = all.length - bytes.length;
    const bodyAt = this.takeHead(all);
    return bodyAt < 0 ? -1 : minus(this.takeBody(all, bodyAt), already);
  }

  /** The other end sends no more: whether that is how this answer ends. */
  endsHere(): boolean {
    return this.head !== undefined && !this.chunks && this.head.contentLength === undefined;
  }

  /** Where the body begins, or -1. */
  private takeHead(bytes: Buffer): number {
    for (let at = 0; ;) {
      const end = endOfHead(bytes, at);
      if ((end < 0 ? bytes.length : end) - at > MAX_HEAD_BYTES)
        throw new NotHttpError('its head does not end');
      if (end < 0) {
        if (!mayBegin(bytes, at)) throw new NotHttpError('it does not begin with a status');
        // A copy: the memory is used for what comes next.
        this.begun = Buffer.from(bytes.subarray(at));
        return -1;
      }
      const head = readAnswerHead(bytes.toString('latin1', at, end));
      at = end + END_OF_HEAD.length;
      if (head.status === 101) throw new NotHttpError('it changes to another protocol');
      if (head.status < 200) continue;
      this.begun = undefined;
      this.begin(head);
      return at;
    }
  }

  private begin(head: AnswerHead): void {
    const isBodiless = head.status === 204 || head.status === 304;
    if (head.isChunked && !isBodiless) this.chunks = new ChunkedBody();
    this.left = isBodiless ? 0 : (head.contentLength ?? Infinity);
    this.head = isBodiless ? { ...head, contentLength: 0 } : head;
    this.listener.onHead(this.head);
  }

  private takeBody(bytes: Buffer, at: number): number {
    if (this.chunks) return this.chunks.take(bytes, at, (piece) => this.listener.onData(piece));
    const end = Math.min(bytes.length, at + this.left);
    this.left -= end - at;
    if (end > at) this.listener.onData(bytes.subarray(at, end));
    return this.left === 0 ? end : -1;
  }
}

function endOfHead(bytes: Buffer, at: number): number {
  const usual = bytes.toString('latin1', at, at + USUAL_HEAD_BYTES).indexOf(END_OF_HEAD);
  return usual < 0 ? bytes.indexOf(END_OF_HEAD, at, 'latin1') : at + usual;
}

/** Whoever speaks something else may wait for our next word, and say no more. */
function mayBegin(bytes: Buffer, at: number): boolean {
  return BEGINNING.startsWith(bytes.toString('latin1', at, at + BEGINNING.length));
}

function minus(end: number, already: number): number {
  return end < 0 ? -1 : end - already;
}
