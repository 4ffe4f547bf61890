import { type Kept } from './bag.js';
import { type AnswerHead } from './http/answer-head.js';
import { type AnswerListener } from './http/answer-reader.js';
import { type Abandon } from './http/http-pool.js';
import { type Reply } from './reply.js';

/** The longest answer is a batch of 256; anything beyond this is not Holdfast. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

const NOTHING = Buffer.alloc(0);

/**
 * One request and its answer, from sending to the last byte. It always ends with exactly one reply: what comes after a
 * timeout or an abort is not looked at.
 */
export class Exchange implements AnswerListener, Kept {
  place = -1;
  /** Once it has been sent. */
  abandon: Abandon | undefined;
  /** Where it has come in one piece, as most do. */
  private whole: string | undefined;
  /** Otherwise, what has come of it: a list of pieces may take a hundred times the room of what is in them. */
  private gathered: Buffer = NOTHING;
  private length = 0;
  private head: AnswerHead | undefined;
  private isOver = false;

  constructor(
    private readonly url: string,
    private readonly sentAtMs: number,
    readonly dueAtMs: number,
    private readonly now: () => number,
    private readonly done: (exchange: Exchange, reply: Reply) => void,
  ) {}

  /** Ends it without an answer. */
  abort(cause: unknown): void {
    this.finish(0, undefined, cause);
    this.abandon?.();
  }

  onHead(head: AnswerHead): void {
    this.head = head;
  }

  onData(bytes: Buffer): void {
    const before = this.length;
    this.length += bytes.length;
    if (this.length > MAX_ANSWER_BYTES) return this.abort(new Error('the answer is too long'));
    if (bytes.length === this.head!.contentLength) this.whole = bytes.toString();
    else {
      if (this.length > this.gathered.length) this.gathered = grown(this.gathered, before, this.length);
      bytes.copy(this.gathered, before);
    }
  }

  onEnd(): void {
    const { status } = this.head!;
    try {
      const text = this.whole ?? this.gathered.toString('utf8', 0, this.length);
      this.finish(status, JSON.parse(text), undefined);
    } catch (cause) {
      this.finish(status, undefined, cause);
    }
  }

  onError(cause: Error): void {
    this.finish(0, undefined, cause);
  }

  private finish(status: number, body: unknown, cause: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    const { url, sentAtMs } = this;
    const retryAfter = this.head?.retryAfter;
    const retryAfterMs = retryAfter === undefined ? undefined : millisecondsOf(retryAfter);
    const ms = this.now() - sentAtMs;
    this.done(this, { url, sentAtMs, ms, status, body, retryAfterMs, cause });
  }
}

/** Twice as long at least, so that what has come is not copied with every piece. */
function grown(bytes: Buffer, used: number, needed: number): Buffer {
  const longer = Buffer.allocUnsafe(Math.max(needed, 2 * used));
  bytes.copy(longer, 0, 0, used);
  return longer;
}

/** Of a `Retry-After`, which is a number of seconds or a date. */
function millisecondsOf(retryAfter: string): number | undefined {
  const seconds = Number(retryAfter);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(retryAfter) - Date.now();
  return ms >= 0 ? ms : undefined;
}
