import { type Reply, isRetriable, isUnavailable } from './reply.js';

/** No reason to keep somebody waiting longer than this between two tries, whatever was configured or answered. */
const LONGEST_MS = 60_000;

export interface RetrySettings {
  readonly maxRetries: number;
  readonly retryIntervalMs: number;
}

/** When to try again. */
export class Retries {
  constructor(
    private readonly settings: RetrySettings,
    /** Several servers: one that does not answer or cannot is left for the next without delay, until all have been tried. */
    private readonly serverCount: number,
    private readonly random: () => number = Math.random,
  ) {}

  /** Milliseconds to wait before the next try, or `undefined`: the reply is final. */
  delayAfter(reply: Reply, earlierTries: number): number | undefined {
    const { maxRetries, retryIntervalMs } = this.settings;
    if (!isRetriable(reply) || earlierTries >= maxRetries) return undefined;
    if (isUnavailable(reply) && earlierTries + 1 < this.serverCount) return 0;
    const backOff = retryIntervalMs * 2 ** earlierTries * (0.5 + this.random() / 2);
    return Math.min(LONGEST_MS, Math.max(backOff, reply.retryAfterMs ?? 0));
  }
}
