import { type Dispatcher } from 'undici';
import { type Reply } from './reply.js';

/** The longest answer is a batch of 256; anything beyond this is not Holdfast. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

type Controller = Dispatcher.DispatchController;

/**
 * One request and its answer, from sending to the last byte. It always ends with exactly one reply: what comes after a
 * timeout or an abort is not looked at.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  private controller: Controller | undefined;
  private readonly chunks: Buffer[] = [];
  private length = 0;
  private status = 0;
  private retryAfter: string | undefined;
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
    this.controller?.abort(cause instanceof Error ? cause : new Error('aborted', { cause }));
  }

  onRequestStart(controller: Controller): void {
    this.controller = controller;
    if (this.isOver) controller.abort(new Error('nobody waits for the answer'));
  }

  onResponseStart(
    _controller: Controller,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.status = status;
    const retryAfter = headers['retry-after'];
    if (typeof retryAfter === 'string') this.retryAfter = retryAfter;
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    this.length += chunk.length;
    if (this.length > MAX_ANSWER_BYTES) return this.abort(new Error('the answer is too long'));
    this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    try {
      const [first] = this.chunks;
      const bytes = this.chunks.length === 1 ? first! : Buffer.concat(this.chunks);
      this.finish(this.status, JSON.parse(bytes.toString()), undefined);
    } catch (cause) {
      this.finish(this.status, undefined, cause);
    }
  }

  onResponseError(_controller: Controller, cause: Error): void {
    this.finish(0, undefined, cause);
  }

  private finish(status: number, body: unknown, cause: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    const { url, sentAtMs } = this;
    const retryAfterMs = this.retryAfter === undefined ? undefined : millisecondsOf(this.retryAfter);
    const ms = this.now() - sentAtMs;
    this.done(this, { url, sentAtMs, ms, status, body, retryAfterMs, cause });
  }
}

/** Of a `Retry-After`, which is a number of seconds or a date. */
function millisecondsOf(retryAfter: string): number | undefined {
  const seconds = Number(retryAfter);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(retryAfter) - Date.now();
  return ms >= 0 ? ms : undefined;
}
