import { describe, expect, it } from 'vitest';
import { NotHttpError } from './answer-head.js';
import { ChunkedBody } from './chunked-body.js';

/** Given in these pieces: what was passed on, and where in the last piece the body ended. */
function taken(...pieces: string[]): { text: string; end: number } {
  const body = new ChunkedBody();
  let text = '';
  let end = -1;
  for (const piece of pieces) {
    expect(end).toBe(-1);
    end = body.take(Buffer.from(piece, 'latin1'), 0, (bytes) => (text += bytes.toString('latin1')));
  }
  return { text, end };
}

describe('a body in chunks', () => {
  it('is what is in its chunks, up to its end', () => {
    expect(taken('5\r\nhello\r\n1\r\n!\r\n0\r\n\r\nHTTP/1.1')).toEqual({ text: 'hello!', end: 21 });
  });

  it('is empty with the last chunk alone', () => {
    expect(taken('0\r\n\r\n')).toEqual({ text: '', end: 5 });
  });

  it('may have extensions, zeros, capitals and trailers, which say nothing', () => {
    expect(
      taken('00A;name="x y"\r\n0123456789\r\n1 \t;x\r\n!\r\n000;last\r\nX-Sum: 1\r\nY: 2\r\n\r\n'),
    ).toMatchObject({ text: '0123456789!', end: 66 });
  });

  it('may have line ends in its chunks', () => {
    expect(taken('4\r\n\r\n\r\n\r\n0\r\n\r\n').text).toBe('\r\n\r\n');
  });

  it('is passed on as it comes, byte by byte', () => {
    expect(taken(...'3;a\r\nabc\r\n0\r\nx: y\r\n\r\n').text).toBe('abc');
    expect(taken(...'3;a\r\nabc\r\n0\r\nx: y\r\n\r\n').end).toBe(1);
  });

  it.each([
    ['that says no length', '\r\n'],
    ['whose length is not hexadecimal', 'g\r\n'],
    ['whose length has a sign', '+5\r\n'],
    ['whose length is negative', '-1\r\n'],
    ['whose length has a prefix', '0x5\r\n'],
    ['whose length begins with a space', ' 5\r\n'],
    ['whose length is cut in two', '5 5\r\n'],
    ['whose length is beyond counting', 'fffffffffffff\r\n'],
    ['whose length ends in a line feed alone', '5\nhello\r\n'],
    ['that is longer than it says', '4\r\nhello\r\n'],
    ['that is shorter than it says', '6\r\nhello\r\n0\r\n\r\n'],
    ['that ends in a line feed alone', '5\r\nhello\n0\r\n'],
    ['whose trailer ends in a line feed alone', '0\r\nx: y\n\r\n'],
    ['after which a line feed alone ends the body', '0\r\n\n'],
  ])('is refused with a chunk %s', (_, text) => {
    expect(() => taken(text)).toThrow(NotHttpError);
    expect(() => taken(...text)).toThrow(NotHttpError);
  });

  it.each([
    ['length', ''],
    ['extension', '5;'],
    ['trailer', '0\r\nx: '],
  ])('is refused with a %s that does not end, before much of it is kept', (_, beginning) => {
    const kilobyte = '1'.repeat(1024);
    expect(() => taken(beginning, ...Array.from({ length: 17 }, () => kilobyte))).toThrow(
      'a line of its body is too long',
    );
  });
});
