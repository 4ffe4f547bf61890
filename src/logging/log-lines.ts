import { type DestinationStream } from 'pino';
import { codeAt } from '../core/text.js';
import { LogFile } from './log-file.js';

/** Soon enough for somebody who looks on. */
const FLUSH_MS = 200;

/** A thousand lines and more: a write through the thread pool costs as much as making forty of them. */
const CHUNK_BYTES = 256 * 1024;

/** In JSON a character takes at most `\u` and four digits. */
export const MOST_BYTES_PER_CHARACTER = 6;

const LAST_PLAIN = 0x7e;
const NEEDS_ESCAPE = Uint8Array.from({ length: LAST_PLAIN + 1 }, (_, code) =>
  Number(code < 0x20 || code === 0x22 || code === 0x5c),
);

/** Those with lines that were not written yet: nothing is lost when the process ends in due form. */
const UNWRITTEN = new Set<LogLines>();
process.on('exit', () => {
  for (const lines of UNWRITTEN) lines.flushSync();
});

export interface LogOutput {
  /** What is written must stay as it is. */
  write(lines: Buffer): void;
  flush(callback: () => void): void;
  /** With these lines last. */
  flushSync(lines: Buffer): void;
}

/**
 * Collects lines and passes them on some at a time, after the answers: a crash may lose the last of them.
 *
 * Bytes from the beginning: text that is added to text is a tree, which outlives many a collection of garbage before it is written.
 */
export class LogLines implements DestinationStream {
  private chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  /** What is between these is not written yet. */
  private from = 0;
  private to = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly output: LogOutput = new LogFile()) {}

  /** Makes room for a line, which is then put together. */
  begin(mostBytes: number): void {
    if (this.to + mostBytes > this.chunk.length) {
      this.pass();
      this.chunk = Buffer.allocUnsafeSlow(Math.max(mostBytes, CHUNK_BYTES));
      this.from = this.to = 0;
    }
    if (this.to > this.from) return;
    UNWRITTEN.add(this);
    this.timer = setTimeout(() => this.pass(), FLUSH_MS).unref();
  }

  /** As it is: ASCII. */
  ascii(text: string): void {
    const { chunk, to } = this;
    const { length } = text;
    for (let i = 0; i < length; i++) chunk[to + i] = codeAt(text, i);
    this.to = to + length;
  }

  /** As JSON has it, without the quotes. */
  escaped(text: string): void {
    const { chunk, to } = this;
    const { length } = text;
    for (let i = 0; i < length; i++) {
      const code = codeAt(text, i);
      if (code > LAST_PLAIN || NEEDS_ESCAPE[code] === 1) return this.utf8(JSON.stringify(text).slice(1, -1));
      chunk[to + i] = code;
    }
    this.to = to + length;
  }

  write(line: string): void {
    this.begin(Buffer.byteLength(line));
    this.utf8(line);
  }

  /** Calls back when everything has been written. */
  flush(callback: () => void): void {
    this.pass();
    this.output.flush(callback);
  }

  flushSync(): void {
    this.output.flushSync(this.take());
  }

  private utf8(text: string): void {
    this.to += this.chunk.write(text, this.to);
  }

  private pass(): void {
    const lines = this.take();
    if (lines.length > 0) this.output.write(lines);
  }

  private take(): Buffer {
    clearTimeout(this.timer);
    UNWRITTEN.delete(this);
    const lines = this.chunk.subarray(this.from, this.to);
    this.from = this.to;
    return lines;
  }
}
