import { type Clock, pause } from './clock.js';
import { type Attempt, ClosedError } from './errors.js';
import { attemptOf, isRecord, type Reply } from './reply.js';
import { type Retries } from './retries.js';
import { type SendOptions, type Sender } from './transport.js';

/** The server takes no more at once. */
const MAX_CALLS = 256;

/** In UTF-16 units, of at most three bytes each: the server takes 1 MB. */
const MAX_LENGTH = 300_000;

/** Whoever waits for a call. A call that nobody wants any more is not tried again. */
export interface Wanted {
  readonly aborted: boolean;
  /** Is told of each try. */
  tried?(reply: Reply): void;
}

/** Calls that travel apart from others for the sake of working side by side: fewer cost more than that saves. */
const FEWEST_APART = 8;

/** What all batchers of a client send with. */
export interface Dispatch {
  readonly transport: Sender;
  readonly retries: Retries;
  readonly clock: Clock;
  readonly closing: AbortSignal;
  /** How many batches the server likes to have under way at once. */
  parallelBatches(): number;
}

interface Call {
  readonly body: string;
  readonly wanted: Wanted | undefined;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
  earlier: readonly Attempt[];
}

/**
 * Calls that are made together travel as one request: to `path` itself if there is one, to `path`/batch if there are more.
 * Each gets the reply it would have had alone. While nothing is under way they are sent as soon as nothing is left to be
 * done in this tick; otherwise once in each turn of the event loop, so that requests become larger, not more. A server that waits for
 * an engine gets many calls in several parts: it works on one while the engine has the other.
 */
export class Batcher {
  private gathered: Call[] = [];
  private isDue = false;
  private readonly flush = () => this.sendAll();

  constructor(
    readonly path: string,
    private readonly dispatch: Dispatch,
    private readonly options: SendOptions = {},
  ) {}

  /** The final reply, whatever it is; rejects when the client is closed. */
  call(body: string, wanted?: Wanted): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.gather({ body, wanted, resolve, reject, earlier: NONE });
    });
  }

  private gather(call: Call): void {
    this.gathered.push(call);
    if (this.isDue) return;
    this.isDue = true;
    if (this.dispatch.transport.isIdle) process.nextTick(this.flush);
    else setImmediate(this.flush);
  }

  private sendAll(): void {
    this.isDue = false;
    const calls = this.gathered;
    this.gathered = [];
    const most = this.mostInOne(calls.length);
    let from = 0;
    let length = 0;
    for (let to = 0; to < calls.length; to++) {
      length += calls[to]!.body.length;
      if (to - from < most && (length <= MAX_LENGTH || to === from)) continue;
      void this.send(calls.slice(from, to));
      from = to;
      length = calls[to]!.body.length;
    }
    void this.send(from === 0 ? calls : calls.slice(from));
  }

  /** While something else is under way the server has work already. */
  private mostInOne(calls: number): number {
    if (calls < 2 * FEWEST_APART || !this.dispatch.transport.isIdle) return MAX_CALLS;
    const parts = Math.min(this.dispatch.parallelBatches(), Math.floor(calls / FEWEST_APART));
    return Math.min(MAX_CALLS, Math.ceil(calls / parts));
  }

  private async send(calls: readonly Call[]): Promise<void> {
    if (this.dispatch.closing.aborted) return this.rejectAll(calls);
    if (calls.length === 1) {
      const [call] = calls;
      return this.again([
        this.settle(call!, await this.dispatch.transport.send('POST', this.path, call!.body, this.options)),
      ]);
    }
    const body = `{"requests":[${calls.map((call) => call.body).join(',')}]}`;
    const reply = await this.dispatch.transport.send('POST', `${this.path}/batch`, body, this.options);
    const results = resultsOf(reply, calls.length);
    this.again(
      calls.map((call, n) => this.settle(call, results ? itemReply(reply, results[n]) : { ...reply })),
    );
  }

  /** Passes the reply on if it is final; else says after how long to try again. */
  private settle(call: Call, reply: Reply): Due | undefined {
    const { earlier } = call;
    call.wanted?.tried?.(reply);
    const delayMs = call.wanted?.aborted
      ? undefined
      : this.dispatch.retries.delayAfter(reply, earlier.length);
    if (delayMs === undefined) {
      if (earlier !== NONE) reply.earlier = earlier;
      call.resolve(reply);
      return undefined;
    }
    call.earlier = [...earlier, attemptOf(reply)];
    return { call, delayMs, reply };
  }

  /** What travelled together and failed travels together again. */
  private again(due: readonly (Due | undefined)[]): void {
    let longestMs = -1;
    for (const one of due) if (one && one.delayMs > longestMs) longestMs = one.delayMs;
    if (longestMs < 0) return;
    void pause(this.dispatch.clock, longestMs, this.dispatch.closing).then(() => {
      for (const one of due) if (one) this.tryAgain(one);
    });
  }

  private tryAgain({ call, reply }: Due): void {
    if (call.wanted?.aborted && !this.dispatch.closing.aborted) call.resolve(reply);
    else this.gather(call);
  }

  private rejectAll(calls: readonly Call[]): void {
    for (const { body, earlier: attempts, reject } of calls)
      reject(new ClosedError({ request: { method: 'POST', path: this.path, body }, attempts }));
  }
}

interface Due {
  readonly call: Call;
  readonly delayMs: number;
  /** What it was answered with. */
  readonly reply: Reply;
}

const NONE: readonly Attempt[] = [];

function resultsOf({ status, body }: Reply, count: number): readonly unknown[] | undefined {
  const results = status === 200 && isRecord(body) ? body['results'] : undefined;
  return Array.isArray(results) && results.length === count ? results : undefined;
}

/** Of an item without a status nothing can be said. */
function itemReply({ url, sentAtMs, ms, retryAfterMs }: Reply, item: unknown): Reply {
  const status = isRecord(item) ? item['status'] : undefined;
  const known = typeof status === 'number' && status >= 100;
  return {
    url,
    sentAtMs,
    ms,
    status: known ? status : 200,
    body: known ? item : undefined,
    retryAfterMs,
    cause: undefined,
  };
}
