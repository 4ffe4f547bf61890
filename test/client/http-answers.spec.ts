import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { NotHttpError } from '../../src/client/http/answer-head.js';
import { answer } from '../support/raw-http-server.js';
import { until } from '../support/server-bootstrap.js';
import { ask, poolOf, rawServer } from './http-setup.js';

const ANSWERS: Record<string, [bytes: string, body: string, isKept: boolean]> = {
  'of a length': ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello', 'hello', true],
  'in chunks': [
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n',
    'hello',
    true,
  ],
  'without content': ['HTTP/1.1 204 No Content\r\n\r\n', '', true],
  'after one that is not final': [
    'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi',
    'hi',
    true,
  ],
  'of HTTP/1.0': ['HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi', 'hi', false],
  'of HTTP/1.0 that keeps the connection': [
    'HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\ncontent-length: 2\r\n\r\nhi',
    'hi',
    true,
  ],
  'that closes': ['HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi', 'hi', false],
  'with bytes after it': ['HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi!', 'hi', false],
  'with another after it': ['HTTP/1.1 204 No\r\n\r\nHTTP/1.1 204 No\r\n\r\n', '', false],
};

describe.each(Object.entries(ANSWERS))('an answer %s', (_, [bytes, body, isKept]) => {
  it(`is read, and its connection is ${isKept ? 'kept' : 'not kept'} for the next`, async () => {
    const server = await rawServer((_request, peer) => peer.say(bytes));
    const pool = poolOf(server);
    for (let n = 0; n < 3; n++) expect(await ask(pool).text).toBe(body);
    expect(server.peers).toHaveLength(isKept ? 1 : 3);
    expect(server.requests).toHaveLength(3);
    if (!isKept) await until(() => server.peers.every(({ isClosed, isEnded }) => isClosed || isEnded));
  });

  it('is read byte by byte', async () => {
    const server = await rawServer(async (_request, peer) => {
      for (const byte of bytes) await nextTurn(peer.say(byte));
    });
    expect(await ask(poolOf(server)).text).toBe(body);
  });
});

describe('an answer that does not say where it ends', () => {
  it('ends with its connection', async () => {
    const server = await rawServer((_request, peer) => {
      peer.say('HTTP/1.1 200 OK\r\n\r\nhel').say('lo').socket.end();
    });
    expect(await ask(poolOf(server)).text).toBe('hello');
  });

  it('is none when its connection breaks', async () => {
    const server = await rawServer((_request, peer) => {
      peer.say('HTTP/1.1 200 OK\r\n\r\nhel');
    });
    const asked = ask(poolOf(server));
    asked.onWord = (word) => word === 'data' && server.peers[0]!.socket.resetAndDestroy();
    expect(await asked.failure).toMatchObject({ code: 'ECONNRESET' });
  });
});

describe('what is no answer', () => {
  it.each([
    ['garbage', 'nonsense'],
    ['an alert of TLS', '\x15\x03\x01\x00\x02\x02\x16'],
    ['a change to another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nhi'],
    ['a chunk without a length', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nhello\r\n'],
  ])('is not waited on: %s', async (_, bytes) => {
    const server = await rawServer((_request, peer) => peer.say(bytes));
    expect(await ask(poolOf(server)).failure).toBeInstanceOf(NotHttpError);
    await until(() => server.peers[0]!.isEnded || server.peers[0]!.isClosed);
  });

  it.each([
    ['head', 'HTTP/1.1 200 OK\r\n', 'x: y\r\n'],
    ['line of a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '1;'],
    ['trailer', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ', 'y'],
  ])('is refused when a %s does not end', async (_, beginning, more) => {
    const server = await rawServer(async (_request, peer) => {
      peer.say(beginning);
      for (let n = 0; n < 5000 && !peer.isClosed; n++) await nextTurn(peer.say(more.repeat(100)));
    });
    expect(await ask(poolOf(server)).failure).toBeInstanceOf(NotHttpError);
  });
});

describe('what is said', () => {
  const text = 'Grüße, 汉字, 😀\n'.repeat(40_000);

  it('arrives as it was, in any language and of any length, both ways', async () => {
    const server = await rawServer(({ body }, peer) => peer.say(answer(body)));
    const pool = poolOf(server);
    for (const body of [text, 'plain', '', 'é', text.slice(0, 70_000)])
      expect(await ask(pool, '/', { method: 'POST', body }).text).toBe(body);
    expect(server.peers).toHaveLength(1);
  });

  it('does not mix with what others are told at the same time', async () => {
    const server = await rawServer(({ line }, peer) => {
      const bytes = answer(`${line} `.repeat(20_000));
      for (let at = 0; at < bytes.length; at += 9973) peer.say(bytes.subarray(at, at + 9973));
    });
    const pool = poolOf(server);
    const paths = Array.from({ length: 40 }, (_, n) => `/${n}`);
    const asked = paths.map((path) => ask(pool, path));
    for (const [n, { body }] of asked.entries())
      expect((await body).equals(Buffer.from(`GET /${n} HTTP/1.1 `.repeat(20_000)))).toBe(true);
    expect(asked.some(({ pieceCount }) => pieceCount > 3)).toBe(true);
  });

  it('may be answered before it has been heard', async () => {
    const server = await rawServer(() => {});
    const pool = poolOf(server);
    const body = 'x'.repeat(8 * 1024 * 1024);
    const early = ask(pool, '/early', { method: 'POST', body });
    await until(() => server.peers.length === 1);
    const [peer] = server.peers;
    peer!.socket.pause();
    peer!.say(answer('enough'));
    expect(await early.text).toBe('enough');
    const next = ask(pool, '/next');
    peer!.socket.resume();
    await until(() => server.requests.length === 2);
    expect(server.requests.map(({ line }) => line)).toEqual(['POST /early HTTP/1.1', 'GET /next HTTP/1.1']);
    peer!.say(answer('next'));
    expect(await next.text).toBe('next');
  });

  it('has the form that every server understands', async () => {
    const server = await rawServer((_request, peer) => peer.say(answer('')));
    const pool = poolOf(server);
    await ask(pool, '/a?b=%20', { accept: 'text/event-stream' }).text;
    await ask(pool, '/', { method: 'POST' }).text;
    await ask(pool, '/', { method: 'POST', body: '"é"' }).text;
    await ask(pool, '/', { method: 'DELETE' }).text;
    const host = `host: 127.0.0.1:${server.port}`;
    expect(server.requests.map(({ head }) => head.split('\r\n'))).toEqual([
      ['GET /a?b=%20 HTTP/1.1', host, 'accept: text/event-stream'],
      ['POST / HTTP/1.1', host, 'content-length: 0'],
      ['POST / HTTP/1.1', host, 'content-type: application/json', 'content-length: 4'],
      ['DELETE / HTTP/1.1', host],
    ]);
  });

  it.each(['/a b', '/a\r\nx: y', '/é', '/\0'])('cannot end the line it stands in: %j', async (path) => {
    const server = await rawServer(() => {});
    expect(() => ask(poolOf(server), path)).toThrow(TypeError);
  });
});
