import { Bag } from './bag.js';
import { type CancelTimer, type Clock } from './clock.js';
import { Exchange } from './exchange.js';
import { type AnswerListener } from './http/answer-reader.js';
import { type Abandon, HttpPool } from './http/http-pool.js';
import { isUnavailable, type Reply } from './reply.js';

/** Enough for batches in flight and single requests beside them; more would only wait in the server instead. */
const SHORT_CONNECTIONS = 16;

export interface SendOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** Neither waits behind short requests for a connection nor keeps them waiting: a long poll, or what a hold depends on. */
  readonly isApart?: boolean;
}

/** What sends a request once. */
export interface Sender {
  /** No short request is under way. */
  readonly isIdle: boolean;
  /** Never rejects: the reply says how it went. */
  send(method: string, path: string, body: string | undefined, options?: SendOptions): Promise<Reply>;
}

/** What opens streams, which have no time limit. */
export interface StreamOpener {
  open(path: string, listener: AnswerListener): Abandon;
  /** The server that the last stream was opened at does not serve streams: the next one, unless it was left already. */
  moveOn(): void;
}

interface Server {
  readonly url: string;
  readonly path: string;
  readonly short: HttpPool;
  /** For what stays open, streams and long polls, and for what cannot wait. */
  readonly apart: HttpPool;
}

/**
 * Sends requests, each once, to the server that answered last. One that does not answer, or says that it cannot, is
 * left for the next in the list.
 */
export class Transport implements Sender, StreamOpener {
  private readonly servers: readonly Server[];
  private current = 0;
  /** Where the stream was opened last. */
  private streaming: Server | undefined;
  /** All have the same time, and one timer serves them all. */
  private readonly underWay = new Bag<Exchange>();
  private timer: CancelTimer | undefined;
  private readonly now: () => number;

  constructor(
    urls: readonly URL[],
    private readonly requestTimeoutMs: number,
    private readonly clock: Clock,
  ) {
    this.now = () => clock.monotonicMs();
    this.servers = urls.map((url) => ({
      url: url.href,
      path: url.pathname.replace(/\/+$/, ''),
      short: new HttpPool(url, clock, SHORT_CONNECTIONS),
      apart: new HttpPool(url, clock),
    }));
  }

  get isIdle(): boolean {
    return this.underWay.size === 0;
  }

  send(method: string, path: string, body: string | undefined, options: SendOptions = {}): Promise<Reply> {
    return new Promise((resolve) => {
      const server = this.servers[this.current]!;
      const { timeoutMs = this.requestTimeoutMs, signal, isApart = false } = options;
      const sentAtMs = this.now();
      const cleanUp = timeoutMs === this.requestTimeoutMs && !signal ? undefined : new CleanUp();
      const exchange = new Exchange(server.url, sentAtMs, sentAtMs + timeoutMs, this.now, (it, reply) => {
        if (cleanUp) cleanUp.run();
        else this.underWay.delete(it);
        if (isUnavailable(reply) && signal?.aborted !== true) this.leave(server);
        resolve(reply);
      });
      if (cleanUp) cleanUp.watch(exchange, this.clock, timeoutMs, signal);
      else this.watch(exchange);
      const pool = isApart ? server.apart : server.short;
      exchange.abandon = pool.send({ method, path: server.path + path, body }, exchange);
    });
  }

  open(path: string, listener: AnswerListener): Abandon {
    const server = this.servers[this.current]!;
    this.streaming = server;
    const request = { method: 'GET', path: server.path + path, accept: 'text/event-stream' };
    return server.apart.send(request, listener);
  }

  moveOn(): void {
    if (this.streaming) this.leave(this.streaming);
  }

  close(): void {
    this.timer?.();
    for (const { short, apart } of this.servers) {
      short.close();
      apart.close();
    }
  }

  /** Many requests may fail together; only the first of them moves on. */
  private leave(server: Server): void {
    if (this.servers[this.current] !== server) return;
    this.current = (this.current + 1) % this.servers.length;
  }

  private watch(exchange: Exchange): void {
    this.underWay.add(exchange);
    if (!this.timer) this.arm(exchange.dueAtMs);
  }

  private arm(dueAtMs: number): void {
    this.timer = this.clock.after(dueAtMs - this.now(), () => this.look(), true);
  }

  private look(): void {
    this.timer = undefined;
    const now = this.now();
    let nextMs = Infinity;
    for (const exchange of this.underWay) {
      if (exchange.dueAtMs > now) nextMs = Math.min(nextMs, exchange.dueAtMs);
      else exchange.abort(timedOut(this.requestTimeoutMs));
    }
    if (nextMs < Infinity && !this.timer) this.arm(nextMs);
  }
}

/** What watches over a request with a time limit or a signal of its own. */
class CleanUp {
  private cancelTimer: CancelTimer | undefined;
  private signal: AbortSignal | undefined;
  private onAbort: (() => void) | undefined;

  watch(exchange: Exchange, clock: Clock, timeoutMs: number, signal: AbortSignal | undefined): void {
    this.cancelTimer = clock.after(timeoutMs, () => exchange.abort(timedOut(timeoutMs)), true);
    this.signal = signal;
    this.onAbort = () => exchange.abort(signal?.reason);
    if (signal?.aborted) queueMicrotask(this.onAbort);
    signal?.addEventListener('abort', this.onAbort);
  }

  run(): void {
    this.cancelTimer?.();
    if (this.onAbort) this.signal?.removeEventListener('abort', this.onAbort);
  }
}

function timedOut(timeoutMs: number): Error {
  return new Error(`no answer within ${timeoutMs} ms`);
}
