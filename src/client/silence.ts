import { isDuration } from './answers.js';
import { type CancelTimer, type Clock } from './clock.js';
import { type Json } from './reply.js';

/** Heartbeats that may be missing or late before a stream counts as dead. */
const MISSED_HEARTBEATS = 2.5;

/** How often the server of a stream says something, as its snapshot tells; older servers do not. */
export function heartbeatIn({ heartbeat_ms: told }: Json, otherwiseMs: number): number {
  return isDuration(told) && told > 0 ? told : otherwiseMs;
}

/** Watches a stream: calls back once when nothing was heard of it for too long. */
export class Silence {
  private lastHeardMs: number;
  private cancelTimer: CancelTimer | undefined;

  constructor(
    private readonly clock: Clock,
    private limitMs: number,
    private readonly onTooLong: () => void,
  ) {
    this.lastHeardMs = clock.monotonicMs();
    this.watch(limitMs);
  }

  heard(): void {
    this.lastHeardMs = this.clock.monotonicMs();
  }

  /** From now on something is to be heard at least this often. */
  expectEvery(heartbeatMs: number): void {
    this.limitMs = heartbeatMs * MISSED_HEARTBEATS;
    this.heard();
    this.stop();
    this.watch(this.limitMs);
  }

  stop(): void {
    this.cancelTimer?.();
  }

  private watch(forMs: number): void {
    this.cancelTimer = this.clock.after(forMs, () => this.look(), true);
  }

  private look(): void {
    const leftMs = this.lastHeardMs + this.limitMs - this.clock.monotonicMs();
    if (leftMs > 0) this.watch(leftMs);
    else this.onTooLong();
  }
}
