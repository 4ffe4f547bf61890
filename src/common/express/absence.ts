/** A shorter stop is taken for a busy moment: whoever gives up within it is served all the same. */
const AWAY_MS = 500;

/** In which whatever came meanwhile is read. */
const BACK_MS = 500;

/**
 * Whether a request may have waited while this process was stopped, or its machine was. Then its sender may have given it up long since, and
 * have asked elsewhere. A server that nobody asked anything for a while is taken for one that was away: that costs the next request no
 * more than a turn of the event loop.
 */
export class Absence {
  private lookedMs = -Infinity;
  private backUntilMs = -Infinity;

  constructor(private readonly nowMs = () => performance.now()) {}

  /** Asked with every request. */
  isJustOver(): boolean {
    const now = this.nowMs();
    if (now - this.lookedMs > AWAY_MS) this.backUntilMs = now + BACK_MS;
    this.lookedMs = now;
    return now < this.backUntilMs;
  }
}
