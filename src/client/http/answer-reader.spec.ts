import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerRecorder } from '../../../test/support/answer-recorder.js';
import { type AnswerHead, NotHttpError } from './answer-head.js';
import { AnswerReader } from './answer-reader.js';

const OK = 'HTTP/1.1 200 OK\r\n';
const NEXT = 'HTTP/1.1 500 Of the next\r\n\r\n';

interface Read {
  readonly head: AnswerHead | undefined;
  readonly body: string;
  /** Of all bytes; -1: there was more to come. */
  readonly end: number;
}

/** In pieces that share one memory, as those of a connection do. */
function read(...pieces: Buffer[]): Read {
  const memory = Buffer.alloc(Math.max(...pieces.map(({ length }) => length)));
  const recorder = new AnswerRecorder();
  const reader = new AnswerReader(recorder);
  let before = 0;
  for (const piece of pieces) {
    memory.fill('#');
    piece.copy(memory);
    const end = reader.take(memory.subarray(0, piece.length));
    if (end >= 0) return { head: recorder.head, body: recorder.bytes.toString('latin1'), end: before + end };
    before += piece.length;
  }
  expect(recorder.mistakes).toEqual([]);
  return { head: recorder.head, body: recorder.bytes.toString('latin1'), end: -1 };
}

const whole = (text: string) => read(Buffer.from(text, 'latin1'));

/** Cut before these bytes. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const cuts = [...new Set([0, ...places, bytes.length])]
    .filter((at) => at <= bytes.length)
    .sort((a, b) => a - b);
  return cuts.slice(1).map((end, n) => bytes.subarray(cuts[n], end));
}

const ANSWERS = {
  'of a length': `${OK}content-length: 5\r\n\r\nhello`,
  'of no length at all': `${OK}content-length: 0\r\n\r\n`,
  'with line ends in its body': `${OK}content-length: 8\r\n\r\n\r\n\r\n\r\n\r\n`,
  'in chunks': `${OK}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\n\r\n!\r\n0\r\nx: y\r\n\r\n`,
  'after others that are not final': `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\n${OK}content-length: 2\r\n\r\nhi`,
  'without content': 'HTTP/1.1 204 No Content\r\nx: y\r\n\r\n',
  'that was not modified': 'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n',
  'without content, although it speaks of chunks': 'HTTP/1.1 204 No\r\ntransfer-encoding: chunked\r\n\r\n',
  'with a head that is longer than usual': `${OK}x: ${'y'.repeat(3000)}\r\ncontent-length: 2\r\n\r\nhi`,
};

describe.each(Object.entries(ANSWERS))('an answer %s', (_, text) => {
  const bytes = Buffer.from(text + NEXT, 'latin1');

  it('ends where it ends, and not in the next', () => {
    expect(whole(text)).toMatchObject({ end: text.length });
    expect(read(bytes)).toEqual(whole(text));
    expect(whole(text.slice(0, -1)).end).toBe(-1);
  });

  it('is the same cut in two anywhere, and byte by byte', () => {
    const everyByte = Array.from(bytes, (_byte, at) => at);
    for (const at of everyByte) expect(read(...cut(bytes, [at]))).toEqual(whole(text));
    expect(read(...cut(bytes, everyByte))).toEqual(whole(text));
  });
});

const body = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
const token = fc.stringMatching(/^[a-z][a-z-]{0,11}$/).map((name) => `x-${name}`);
const value = fc.stringMatching(/^[ -~]{0,30}$/);
const headers = fc
  .array(fc.tuple(token, value), { maxLength: 4 })
  .map((lines) => lines.map(([name, text]) => `${name}: ${text}\r\n`).join(''));
const chunk = fc
  .tuple(body, fc.constantFrom('', ';x', ' ;y="z"'))
  .map(([bytes, extension]) => ({ bytes, extension }));

const ofALength = fc.tuple(headers, body).map(([lines, text]) => ({
  text: `${OK}${lines}content-length: ${text.length}\r\n\r\n${text}`,
  body: text,
}));
const inChunks = fc
  .tuple(headers, fc.array(chunk, { maxLength: 6 }), headers)
  .map(([lines, chunks, trailers]) => {
    const full = chunks.filter(({ bytes }) => bytes.length > 0);
    const coded = full
      .map(({ bytes, extension }) => `${bytes.length.toString(16)}${extension}\r\n${bytes}\r\n`)
      .join('');
    return {
      text: `${OK}${lines}transfer-encoding: chunked\r\n\r\n${coded}0\r\n${trailers}\r\n`,
      body: full.map(({ bytes }) => bytes).join(''),
    };
  });

it('reads any answer, cut anywhere, as it reads it whole', () => {
  const answer = fc.oneof(ofALength, inChunks);
  fc.assert(
    fc.property(
      answer,
      fc.array(fc.nat(1500), { maxLength: 20 }),
      fc.boolean(),
      (said, places, isFollowed) => {
        const bytes = Buffer.from(said.text + (isFollowed ? NEXT : ''), 'latin1');
        const expected = { body: said.body, end: said.text.length };
        expect(read(bytes)).toMatchObject(expected);
        expect(read(...cut(bytes, places))).toEqual(read(bytes));
      },
    ),
  );
});

describe('an answer that does not say where it ends', () => {
  it('goes on until the connection ends', () => {
    const recorder = new AnswerRecorder();
    const reader = new AnswerReader(recorder);
    expect(reader.endsHere()).toBe(false);
    expect(reader.take(Buffer.from(`${OK}\r\nhel`))).toBe(-1);
    expect(reader.take(Buffer.from('lo'))).toBe(-1);
    expect(recorder.bytes.toString()).toBe('hello');
    expect(reader.endsHere()).toBe(true);
  });

  it.each([
    ['of a length', 'content-length: 5\r\n\r\nhell'],
    ['in chunks', 'transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n'],
    ['whose head is cut', 'content-length: 5\r\n'],
  ])('is none %s: the end of the connection cuts it', (_, text) => {
    const reader = new AnswerReader(new AnswerRecorder());
    expect(reader.take(Buffer.from(OK + text))).toBe(-1);
    expect(reader.endsHere()).toBe(false);
  });
});

describe('bytes that are no answer', () => {
  it('are refused when they change to another protocol', () => {
    expect(() => whole('HTTP/1.1 101 Switching Protocols\r\n\r\n')).toThrow('it changes to another protocol');
  });

  it.each(['\x15\x03\x01\x00\x02\x02\x16', 'SSH-2.0-OpenSSH\r\n', 'HTTP/2', 'H2', '\r\n', ' HTTP', '\0'])(
    'are refused at once, whether more of them come or not: %j',
    (text) => {
      expect(() => whole(text)).toThrow(NotHttpError);
      expect(() => read(...cut(Buffer.from(text, 'latin1'), [1]))).toThrow(NotHttpError);
    },
  );

  it.each(['H', 'HTTP/', 'HTTP/1.', 'HTTP/1.1 200'])('may be the beginning of one: %j', (text) => {
    expect(whole(text).end).toBe(-1);
  });

  it('are refused when a head is longer than 64 KB, however it comes', () => {
    const bytes = Buffer.from(`${OK}x: ${'y'.repeat(70_000)}\r\ncontent-length: 0\r\n\r\n`);
    expect(() => read(bytes)).toThrow('its head does not end');
    expect(() => read(...cut(bytes, [30_000]))).toThrow('its head does not end');
    expect(() => read(...cut(bytes, [60_000]))).toThrow('its head does not end');
  });

  it('are refused when a head does not end, before more than twice of that was kept', () => {
    const reader = new AnswerReader(new AnswerRecorder());
    const line = Buffer.from(`x: ${'y'.repeat(1019)}\r\n`);
    reader.take(Buffer.from(OK));
    let lines = 0;
    expect(() => {
      for (; lines < 1000; lines++) reader.take(line);
    }).toThrow('its head does not end');
    expect(lines).toBe(63);
  });

  it('may be any number of answers that are not final, before one that is', () => {
    const reader = new AnswerReader(new AnswerRecorder());
    const waits = Buffer.from('HTTP/1.1 102 Processing\r\n\r\n'.repeat(1000) + 'HTTP/1.1 102');
    expect(reader.take(waits)).toBe(-1);
    expect(reader.take(Buffer.from(' Processing\r\n\r\nHTTP/1.1 204 No\r\n\r\n'))).toBe(34);
  });
});
