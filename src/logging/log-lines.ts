import { type DestinationStream, pino } from 'pino';

/** Soon enough for somebody who looks on. */
const FLUSH_MS = 200;

/** Some hundred lines: a write through the thread pool costs as much as making twenty of them. */
const FLUSH_CHARACTERS = 64 * 1024;

/** Those with lines that were not written yet: nothing is lost when the process ends in due form. */
const UNWRITTEN = new Set<LogLines>();
process.on('exit', () => {
  for (const lines of UNWRITTEN) lines.flushSync();
});

/**
 * Collects lines and writes them to standard output some at a time, after the answers: a crash may lose the last of them.
 * `pino.destination` could collect, too, but measures all that it has with every line.
 */
export class LogLines implements DestinationStream {
  private readonly output = pino.destination({ sync: false, minLength: 1 });
  private text = '';
  private timer: NodeJS.Timeout | undefined;

  write(line: string): void {
    if (this.text === '') {
      UNWRITTEN.add(this);
      this.timer = setTimeout(() => this.pass(), FLUSH_MS).unref();
    }
    this.text += line;
    if (this.text.length >= FLUSH_CHARACTERS) this.pass();
  }

  /** Calls back when everything has been written. */
  flush(callback: (error?: Error) => void): void {
    this.pass();
    this.output.flush(callback);
  }

  flushSync(): void {
    this.pass();
    this.output.flushSync();
  }

  private pass(): void {
    if (this.text === '') return;
    clearTimeout(this.timer);
    UNWRITTEN.delete(this);
    this.output.write(this.text);
    this.text = '';
  }
}
