import { write, writeSync } from 'node:fs';
import { type LogOutput } from './log-lines.js';

/** A terminal or pipe that takes nothing for now is tried again after this. */
const RETRY_MS = 20;

/** Unwritten lines that are kept for a reader who is slow: minutes of a busy server. Beyond it they are lost. */
const MOST_BYTES = 64 * 1024 * 1024;

/** For the last lines of a process that ends: it has to be gone after five seconds, and nobody may be reading. */
const PATIENCE_MS = 1000;

const [STANDARD_OUTPUT, STANDARD_ERROR] = [1, 2];
const NEWLINE = Buffer.from('\n');
const NOTHING: Buffer = Buffer.alloc(0);

/** Those with lines that were not written yet: nothing is lost when the process ends in due form. */
const UNWRITTEN = new Set<LogFile>();
process.on('exit', () => {
  for (const file of UNWRITTEN) file.flushSync();
});

/** Of `node:fs`. */
export interface LogFileSystem {
  write(
    fd: number,
    bytes: Buffer,
    offset: number,
    length: number,
    position: null,
    callback: (error: NodeJS.ErrnoException | null, written: number) => void,
  ): void;
  writeSync(fd: number, bytes: Buffer | string): number;
}

/**
 * Writes lines to standard output, one piece after the other, beside everything else that the process does.
 *
 * No log may stop the server, or keep it from ending. Lines that cannot be written, because the disk is full or the reader is gone or
 * too far behind, are lost; standard error says so, and how many there were once lines are written again. Streams of libraries
 * have no such limits: the one of pino ends the process on a full disk, and waits there for room for ever.
 */
export class LogFile implements LogOutput {
  private readonly waiting: Buffer[] = [];
  private waitingBytes = 0;
  /** Since when the first of them is being written. */
  private sinceMs: number | undefined;
  /** What was written last is part of a line. */
  private isTorn = false;
  /** Lines that were lost since everything was last written. */
  private lost = 0;
  private readonly onEmpty: (() => void)[] = [];

  constructor(private readonly fs: LogFileSystem = { write, writeSync }) {}

  write(lines: Buffer): void {
    if (this.waitingBytes + lines.length > MOST_BYTES) return this.lose(lines, 'nobody reads them');
    this.waiting.push(lines);
    this.waitingBytes += lines.length;
    UNWRITTEN.add(this);
    this.writeNext();
  }

  /** Calls back when everything has been written, or after a while. */
  flush(callback: () => void): void {
    if (this.sinceMs === undefined) return callback();
    let isCalled = false;
    const once = () => {
      clearTimeout(timer);
      if (!isCalled) callback();
      isCalled = true;
    };
    const timer = setTimeout(once, PATIENCE_MS);
    this.onEmpty.push(once);
  }

  /** When the process ends. Where a write has been waiting for long, so would this. */
  flushSync(lines = NOTHING): void {
    const isUnderWay = this.sinceMs !== undefined;
    if (isUnderWay && performance.now() - this.sinceMs! > PATIENCE_MS) return;
    // What is under way is written by another thread.
    if (isUnderWay) sleep(RETRY_MS);
    const endMs = performance.now() + PATIENCE_MS;
    let bytes = Buffer.concat([...this.waiting.splice(isUnderWay ? 1 : 0), lines]);
    while (bytes.length > 0 && performance.now() < endMs) {
      try {
        bytes = bytes.subarray(this.fs.writeSync(STANDARD_OUTPUT, bytes));
      } catch (error) {
        if (!isBusy(error)) return;
        sleep(RETRY_MS);
      }
    }
  }

  private writeNext(): void {
    if (this.sinceMs !== undefined) return;
    if (this.waiting.length === 0) return this.emptied();
    this.sinceMs = performance.now();
    this.tryNext();
  }

  private tryNext(): void {
    const isMending = this.isTorn && this.lost > 0;
    const bytes = isMending ? NEWLINE : this.waiting[0]!;
    this.fs.write(STANDARD_OUTPUT, bytes, 0, bytes.length, null, (error, written) => {
      if (isBusy(error)) return void setTimeout(() => this.tryNext(), RETRY_MS);
      this.sinceMs = undefined;
      if (error) this.lose(this.take(), error.message);
      else if (isMending) this.isTorn = false;
      else this.took(written);
      this.writeNext();
    });
  }

  private took(written: number): void {
    const bytes = this.take();
    const rest = bytes.subarray(written);
    if (rest.length > 0) {
      this.waiting.unshift(rest);
      this.waitingBytes += rest.length;
    }
    this.isTorn = bytes[written - 1] !== NEWLINE[0];
    if (this.lost === 0 || this.waiting.length > 0) return;
    this.complain(`The log is written again. ${this.lost} lines of it were lost.`);
    this.lost = 0;
  }

  private take(): Buffer {
    const bytes = this.waiting.shift()!;
    this.waitingBytes -= bytes.length;
    return bytes;
  }

  private lose(lines: Buffer, reason: string): void {
    if (this.lost === 0) this.complain(`Lines of the log are lost: ${reason}`);
    this.lost += countLines(lines);
  }

  private emptied(): void {
    UNWRITTEN.delete(this);
    for (const callback of this.onEmpty.splice(0)) callback();
  }

  private complain(sentence: string): void {
    try {
      this.fs.writeSync(STANDARD_ERROR, `${sentence}\n`);
    } catch {
      // There is nobody left to tell.
    }
  }
}

/** A terminal or pipe that does not block, and is full. */
function isBusy(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'EAGAIN';
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function countLines(lines: Buffer): number {
  let count = 0;
  for (let at = lines.indexOf(NEWLINE); at >= 0; at = lines.indexOf(NEWLINE, at + 1)) count++;
  return count;
}
