import { LogLines } from '../../src/logging/log-lines.js';

/** A log whose lines are kept instead of written. */
export class CollectedLog {
  private text = '';
  readonly lines = new LogLines({
    write: (lines) => void (this.text += lines.toString()),
    flush: (callback) => callback(),
    flushSync: (lines) => void (this.text += lines.toString()),
  });

  /** All so far, each with its end. */
  read(): string[] {
    this.lines.flushSync();
    return this.text.match(/[^\n]*\n/g) ?? [];
  }
}
