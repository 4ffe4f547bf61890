/** Answers in a row between which nobody else has written: then it is likely that nobody will before the next. */
const ANSWERS_IN_A_ROW = 8;

/** After the last of them, what others have written is asked for: so much later than it was made it may be shown. */
const REST_MS = 5;

/** The connection is used at least this often, so that a dead one is noticed. */
const LONGEST_REST_MS = 1000;

/**
 * When a reader of feeds need not ask, because all there is to be read is known from the answers to commits of this process. Each answer
 * names the revision before its own, and so says whether somebody else has written.
 */
export class ReaderRest {
  private answers = 0;
  private lastMs = 0;
  private end: (() => void) | undefined;

  /** An answer has shown all there is. */
  earn(): void {
    this.answers++;
    this.lastMs = performance.now();
  }

  stop(): void {
    this.answers = 0;
    this.end?.();
  }

  async take(): Promise<void> {
    const latestMs = performance.now() + LONGEST_REST_MS;
    while (this.answers >= ANSWERS_IN_A_ROW) {
      const untilMs = Math.min(this.lastMs + REST_MS, latestMs);
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return;
      await new Promise<void>((resolve) => {
        this.end = resolve;
        setTimeout(resolve, leftMs).unref();
      });
    }
  }
}
