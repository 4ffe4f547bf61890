import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LogFile, type LogFileSystem } from './log-file.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const MEGABYTE = 1024 * 1024;

/** Standard output and error as a test would have them. A write is under way until the test ends it. */
class Outputs implements LogFileSystem {
  written = '';
  said = '';
  private end: ((error: NodeJS.ErrnoException | null, written: number) => void) | undefined;
  private bytes: Buffer = Buffer.alloc(0);

  write: LogFileSystem['write'] = (_fd, bytes, _offset, _length, _position, callback) => {
    expect(this.end, 'one at a time').toBeUndefined();
    this.bytes = bytes;
    this.end = callback;
  };

  writeSync(fd: number, bytes: Buffer | string): number {
    if (fd === 2) this.said += bytes;
    else this.written += bytes.toString();
    return bytes.length;
  }

  take(count = Infinity): void {
    const taken = this.bytes.subarray(0, count);
    this.written += taken.toString();
    this.finish(null, taken.length);
  }

  fail(code: string): void {
    this.finish(Object.assign(new Error(`${code}: trouble`), { code }), 0);
  }

  get isBusy(): boolean {
    return this.end !== undefined;
  }

  private finish(error: NodeJS.ErrnoException | null, written: number): void {
    const { end } = this;
    this.end = undefined;
    end!(error, written);
  }
}

function scene() {
  const outputs = new Outputs();
  const file = new LogFile(outputs);
  return { outputs, file, write: (text: string) => file.write(Buffer.from(text)) };
}

describe('LogFile', () => {
  it('writes in order, one piece after the other, also what is taken in parts', () => {
    const { outputs, write } = scene();
    write('one\n');
    write('two\n');
    outputs.take(2);
    outputs.take();
    expect(outputs.written).toBe('one\n');
    outputs.take();
    expect([outputs.written, outputs.isBusy, outputs.said]).toEqual(['one\ntwo\n', false, '']);
  });

  it('tries again where nothing is taken for now', () => {
    const { outputs, write } = scene();
    write('one\n');
    outputs.fail('EAGAIN');
    expect(outputs.isBusy).toBe(false);
    vi.advanceTimersByTime(20);
    outputs.take();
    expect([outputs.written, outputs.said]).toEqual(['one\n', '']);
  });

  it('goes on where the disk is full, says so once, and how much was lost when there is room again', () => {
    const { outputs, write } = scene();
    write('one\ntwo\n');
    write('three\n');
    outputs.fail('ENOSPC');
    outputs.fail('ENOSPC');
    expect(outputs.said).toBe('Lines of the log are lost: ENOSPC: trouble\n');
    write('four\n');
    outputs.take();
    expect(outputs.written).toBe('four\n');
    expect(outputs.said).toContain('The log is written again. 3 lines of it were lost.\n');
    write('five\n');
    outputs.take();
    expect(outputs.written).toBe('four\nfive\n');
  });

  it('does not write behind a line of which the end was lost', () => {
    const { outputs, write } = scene();
    write('one\n');
    outputs.take(2);
    outputs.fail('ENOSPC');
    write('two\n');
    outputs.fail('ENOSPC');
    write('three\n');
    outputs.take();
    outputs.take();
    expect(outputs.written).toBe('on\nthree\n');
  });

  it('keeps only so much for a reader who is slow', () => {
    const { outputs, write } = scene();
    const line = `${'x'.repeat(MEGABYTE - 1)}\n`;
    for (let n = 0; n < 70; n++) write(line);
    expect(outputs.said).toBe('Lines of the log are lost: nobody reads them\n');
    for (let n = 0; n < 64; n++) outputs.take();
    expect([outputs.written.length, outputs.isBusy]).toEqual([64 * MEGABYTE, false]);
    expect(outputs.said).toContain('The log is written again. 6 lines of it were lost.\n');
  });

  it('has flushed when everything is written', () => {
    const { outputs, file, write } = scene();
    const flushed = vi.fn();
    file.flush(flushed);
    expect(flushed).toHaveBeenCalledTimes(1);
    write('one\n');
    file.flush(flushed);
    expect(flushed).toHaveBeenCalledTimes(1);
    outputs.take();
    vi.advanceTimersByTime(10_000);
    expect(flushed).toHaveBeenCalledTimes(2);
  });

  it('gives up flushing what nobody takes', () => {
    const { outputs, file, write } = scene();
    const flushed = vi.fn();
    write('one\n');
    file.flush(flushed);
    vi.advanceTimersByTime(1000);
    expect(flushed).toHaveBeenCalledTimes(1);
    outputs.take();
    expect(flushed).toHaveBeenCalledTimes(1);
  });

  it('writes what is left when the process ends, unless nobody takes anything', () => {
    const { outputs, file, write } = scene();
    write('one\n');
    outputs.take();
    file.flushSync(Buffer.from('two\n'));
    expect(outputs.written).toBe('one\ntwo\n');
    write('three\n');
    vi.advanceTimersByTime(1001);
    file.flushSync(Buffer.from('four\n'));
    expect(outputs.written).toBe('one\ntwo\n');
  });
});
