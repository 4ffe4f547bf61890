import { describe, expect, it } from 'vitest';
import { NotHttpError, readAnswerHead } from './answer-head.js';

const read = (...lines: string[]) => readAnswerHead(['HTTP/1.1 200 OK', ...lines].join('\r\n'));

describe('the head of an answer', () => {
  it('without headers says nothing but its status', () => {
    expect(read()).toEqual({
      status: 200,
      contentType: '',
      retryAfter: undefined,
      contentLength: undefined,
      isChunked: false,
      keepsAlive: true,
      keepAliveMs: undefined,
    });
  });

  it('says what this client cares for, in whatever case and with spaces around it', () => {
    expect(
      readAnswerHead(
        'HTTP/1.1 503 No\r\nCONTENT-TYPE:text/plain; x=":"\r\nRetry-after: \t7 \r\ncontent-Length: 12 \r\nx:\r\nKeep-Alive: timeout=72, max=5',
      ),
    ).toMatchObject({
      status: 503,
      contentType: 'text/plain; x=":"',
      retryAfter: '7',
      contentLength: 12,
      keepAliveMs: 72_000,
    });
  });

  it.each(['HTTP/1.1 204', 'HTTP/1.1 204 ', 'HTTP/1.0 204 Nothing: really', 'HTTP/1.1 204 N\xfcchts'])(
    'has a status in %j',
    (line) => {
      expect(readAnswerHead(line).status).toBe(204);
    },
  );

  it.each([
    '',
    'HTTP/1.1',
    'HTTP/1.1 20 OK',
    'HTTP/1.1 2000 OK',
    'HTTP/1.1  200 OK',
    'HTTP/1.1 099 OK',
    'HTTP/1.1 600 OK',
    'HTTP/1.2 200 OK',
    'HTTP/2 200',
    'http/1.1 200 OK',
    ' HTTP/1.1 200 OK',
    'SSH-2.0-OpenSSH_9.2',
    '\x15\x03\x01\x00\x02\x02\x16',
    'HTTP/1.1 200 OK\ncontent-length: 5',
  ])('is refused that begins with %j', (line) => {
    expect(() => readAnswerHead(line)).toThrow(NotHttpError);
  });

  it.each([
    ['a line without a colon', 'nonsense'],
    ['a header without a name', ': 5'],
    ['an empty line', ''],
    ['a space before the colon', 'content-length : 5'],
    ['a tab before the colon', 'content-length\t: 5'],
    ['a line that goes on with the one before', ' content-length: 5'],
    ['a line that goes on by a tab', '\tclose: x'],
    ['a line that ends in a line feed alone', 'x: y\ncontent-length: 5'],
  ])('with %s is refused: it hides a header from one reader that another sees', (_, line) => {
    expect(() => read('server: x', line, 'content-type: y')).toThrow(NotHttpError);
  });
});

describe('the length that an answer says', () => {
  it.each(['-1', '+5', '5.0', '0x5', '5e1', '', '5, 5', '5 5', '1_0', '\xa05', '9'.repeat(16), 'Infinity'])(
    'is not a number in %j',
    (value) => {
      expect(() => read(`content-length: ${value}`)).toThrow('its length is not a number');
    },
  );

  it('may be said twice, but not in two ways', () => {
    expect(read('content-length: 5', 'content-length: 5').contentLength).toBe(5);
    expect(() => read('content-length: 5', 'content-length: 6')).toThrow(NotHttpError);
  });

  it('is not said beside chunks, in whatever order', () => {
    expect(() => read('content-length: 5', 'transfer-encoding: chunked')).toThrow(NotHttpError);
    expect(() => read('transfer-encoding: chunked', 'content-length: 5')).toThrow(NotHttpError);
  });

  it('is in chunks, and only in chunks', () => {
    expect(read('Transfer-Encoding:  Chunked ').isChunked).toBe(true);
    for (const value of ['gzip, chunked', 'chunked, chunked', 'identity', '', 'xchunked', 'chunked;q=1'])
      expect(() => read(`transfer-encoding: ${value}`)).toThrow('its transfer encoding is not known');
    expect(() => read('transfer-encoding: chunked', 'transfer-encoding: chunked')).toThrow(NotHttpError);
  });
});

describe('a connection', () => {
  const keepsAlive = (version: string, ...connection: string[]) =>
    readAnswerHead(
      [`HTTP/${version} 200 OK`, ...connection.map((value) => `Connection: ${value}`)].join('\r\n'),
    ).keepsAlive;

  it('is kept by HTTP/1.1 unless it says otherwise, and by HTTP/1.0 only if it says so', () => {
    expect(keepsAlive('1.1')).toBe(true);
    expect(keepsAlive('1.1', 'Close')).toBe(false);
    expect(keepsAlive('1.0')).toBe(false);
    expect(keepsAlive('1.0', 'Keep-Alive')).toBe(true);
  });

  it('is closed where both are said', () => {
    expect(keepsAlive('1.1', 'keep-alive, close')).toBe(false);
    expect(keepsAlive('1.1', 'keep-alive', 'close')).toBe(false);
    expect(keepsAlive('1.1', 'close', 'keep-alive')).toBe(false);
    expect(keepsAlive('1.0', 'close', 'keep-alive')).toBe(false);
  });

  it.each([
    ['timeout=5', 5000],
    ['max=100, timeout=0', 0],
    ['Timeout=9999999', 9_999_999_000],
    ['timeout=99999999', undefined],
    ['timeout=-1', undefined],
    ['timeout=', undefined],
    ['max=5', undefined],
  ])('with %j is kept for %j ms', (value, ms) => {
    expect(read(`keep-alive: ${value}`).keepAliveMs).toBe(ms);
  });
});
