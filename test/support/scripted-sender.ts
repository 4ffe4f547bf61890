import { type Dispatch } from '../../src/client/batcher.js';
import { type Clock } from '../../src/client/clock.js';
import { type Reply } from '../../src/client/reply.js';
import { type Sender, type SendOptions } from '../../src/client/transport.js';

/** For a batcher over a sender of this kind. */
export function dispatchOver(
  sender: Sender,
  { retries, clock, closing }: Pick<Dispatch, 'retries' | 'clock' | 'closing'>,
  parallel = 1,
): Dispatch {
  return { transport: sender, retries, clock, closing, parallelBatches: () => parallel };
}

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
  readonly options: SendOptions;
  answer(status: number, body?: unknown, retryAfterMs?: number): void;
}

/** Keeps what is sent until the test answers it. */
export class ScriptedSender implements Sender {
  readonly sent: Sent[] = [];
  private underWay = 0;

  constructor(private readonly clock: Clock) {}

  get last(): Sent {
    return this.sent.at(-1)!;
  }

  get isIdle(): boolean {
    return this.underWay === 0;
  }

  send(method: string, path: string, body: string | undefined, options: SendOptions = {}): Promise<Reply> {
    const sentAtMs = this.clock.monotonicMs();
    this.underWay++;
    return new Promise((resolve) => {
      const answer = (status: number, json?: unknown, retryAfterMs?: number) => {
        this.underWay--;
        const ms = this.clock.monotonicMs() - sentAtMs;
        resolve({ url: 'http://s/', sentAtMs, ms, status, body: json, retryAfterMs, cause: undefined });
      };
      this.sent.push({ method, path, body, options, answer });
    });
  }
}
