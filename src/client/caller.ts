import { type Clock, pause } from './clock.js';
import { type Attempt, ClosedError } from './errors.js';
import { attemptOf, type Reply } from './reply.js';
import { type Retries } from './retries.js';
import { type SendOptions, type Sender } from './transport.js';
import { type Tries } from './tries.js';

export interface CallOptions extends SendOptions {
  /** Whoever counts what is tried for them. */
  readonly tries?: Iterable<Tries>;
}

/** Makes single calls, with retries. */
export class Caller {
  constructor(
    private readonly transport: Sender,
    private readonly retries: Retries,
    private readonly clock: Clock,
    private readonly closing: AbortSignal,
  ) {}

  /** The final reply, whatever it is; rejects when the client is closed or the signal of the options aborts. */
  async call(method: string, path: string, body?: string, options: CallOptions = {}): Promise<Reply> {
    const earlier: Attempt[] = [];
    const { signal = this.closing } = options;
    for (;;) {
      if (this.closing.aborted) throw closedUnder(earlier, method, path, body);
      if (signal.aborted) throw signal.reason;
      const reply = await this.transport.send(method, path, body, options);
      for (const each of options.tries ?? []) each.note(reply);
      const delay = this.retries.delayAfter(reply, earlier.length);
      reply.earlier = earlier;
      if (delay === undefined) return reply;
      earlier.push(attemptOf(reply));
      await pause(this.clock, delay, signal);
    }
  }
}

function closedUnder(attempts: Attempt[], method: string, path: string, body?: string): ClosedError {
  return new ClosedError({ request: { method, path, ...(body !== undefined && { body }) }, attempts });
}
