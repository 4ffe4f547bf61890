import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LogLines } from './log-lines.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The texts that were written, each as it is in the end: whoever writes later must leave the bytes alone. */
function collected() {
  const chunks: Buffer[] = [];
  const output = {
    write: (bytes: Buffer) => void chunks.push(bytes),
    flush: (callback: () => void) => callback(),
    flushSync: (bytes: Buffer) => void (bytes.length > 0 && chunks.push(bytes)),
  };
  return { lines: new LogLines(output), texts: () => chunks.map((chunk) => chunk.toString()) };
}

it('writes lines together, soon after the first', () => {
  const { lines, texts } = collected();
  lines.write('one\n');
  lines.write('zwölf\n');
  expect(texts()).toEqual([]);
  vi.advanceTimersByTime(200);
  expect(texts()).toEqual(['one\nzwölf\n']);
  lines.write('three\n');
  vi.advanceTimersByTime(200);
  expect(texts()).toEqual(['one\nzwölf\n', 'three\n']);
});

it('writes what it has when it is told to', () => {
  const { lines, texts } = collected();
  lines.write('one\n');
  lines.flush(() => undefined);
  lines.write('two\n');
  lines.flushSync();
  lines.flushSync();
  expect(texts()).toEqual(['one\n', 'two\n']);
});

it('loses nothing of more than it can hold, nor of a line that is longer than that', () => {
  const { lines, texts } = collected();
  const all = [];
  for (let i = 0; i < 100; i++) all.push(`${i}${'é'.repeat(3000)}\n`);
  all.push(`${'€'.repeat(200_000)}\n`, 'last\n');
  for (const line of all) lines.write(line);
  expect(texts().length, 'without waiting').toBeGreaterThan(1);
  lines.flushSync();
  expect(texts().join('') === all.join('')).toBe(true);
});

it('puts a line together from pieces', () => {
  const { lines, texts } = collected();
  for (let i = 0; i < 20_000; i++) {
    lines.begin(100);
    lines.ascii('{"a":"');
    lines.escaped(i % 2 === 0 ? 'plain text' : 'näme\n"');
    lines.ascii('"}\n');
  }
  lines.flushSync();
  expect(texts().join('') === '{"a":"plain text"}\n{"a":"näme\\n\\""}\n'.repeat(10_000)).toBe(true);
});
