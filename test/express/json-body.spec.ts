import { gzipSync } from 'node:zlib';
import {
  type ArgumentsHost,
  Body,
  Catch,
  Controller,
  type ExceptionFilter,
  HttpException,
  Module,
  Post,
} from '@nestjs/common';
import { type Request, type Response } from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  BATCH_LIMIT_BYTES,
  BODY_LIMIT_BYTES,
  DISCARD_LIMIT_BYTES,
} from '../../src/common/express/json-body-reader.js';
import { RawConnection, serveNest, type Server } from './servers.js';

let handled = 0;
let refused = 0;

@Controller()
class Echo {
  @Post(['echo', 'lock/batch'])
  echo(@Body() body: object) {
    handled++;
    return { body };
  }
}

/** As the application's filter will be: one place that formats what guards, pipes and the reader throw. */
@Catch(HttpException)
class OneFilter implements ExceptionFilter {
  catch(error: HttpException, host: ArgumentsHost) {
    refused++;
    host
      .switchToHttp()
      .getResponse<Response>()
      .status(error.getStatus())
      .json({ filtered: error.getResponse() });
  }
}

@Module({ controllers: [Echo] })
class App {}

const JSON_HEADERS = { 'content-type': 'application/json' };

/** A JSON object of exactly this many bytes. */
const objectOf = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`;

const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

const CHUNKED =
  'POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

const ANNOUNCED =
  'POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n';

const MEGABYTE = 1024 * 1024;

describe('the reader of JSON bodies', () => {
  let server: Server;

  beforeAll(async () => {
    server = await serveNest(App, (app) => app.useGlobalFilters(new OneFilter()));
  });
  afterAll(() => server.close());

  async function send(
    body: RequestInit['body'] | undefined,
    headers: Record<string, string> = JSON_HEADERS,
    path = '/echo',
  ) {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers,
      ...(body !== undefined && { body }),
    });
    return {
      status: response.status,
      ...((await response.json()) as { body?: unknown; filtered?: unknown }),
    };
  }

  const refusal = (status: number, code: string) => ({
    status,
    filtered: { code, message: expect.stringMatching(/^[A-Z].*/) },
  });

  it('reads an object', async () => {
    expect(await send('{"a":[1,2],"ü":"汉😀"}')).toEqual({ status: 201, body: { a: [1, 2], ü: '汉😀' } });
  });

  it.each(['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"', 'application/json ; v=1'])(
    'takes %s',
    async (type) => {
      expect(await send('{}', { 'content-type': type })).toEqual({ status: 201, body: {} });
    },
  );

  it('takes no body for an empty object', async () => {
    expect(await send(undefined, {})).toEqual({ status: 201, body: {} });
    const connection = await RawConnection.open(server.port);
    expect(await connection.send(`${CHUNKED}0\r\n\r\n`).until(/"body".*\}\}/)).toContain('{"body":{}}');
    connection.socket.destroy();
  });

  it('takes a body in pieces, even of one character', async () => {
    const bytes = Buffer.from('{"a":"汉"}');
    const connection = await RawConnection.open(server.port);
    connection.send(CHUNKED);
    for (const byte of bytes) connection.send(Buffer.from([0x31, 0x0d, 0x0a, byte, 0x0d, 0x0a]));
    const answer = await connection.send('0\r\n\r\n').until(/"\}\}/);
    expect(Buffer.from(answer, 'latin1').toString()).toContain('{"body":{"a":"汉"}}');
    connection.socket.destroy();
  });

  it.each([
    ['another type', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a relative of JSON', { 'content-type': 'application/problem+json' }],
    ['another character set', { 'content-type': 'application/json; charset=latin1' }],
    ['a compressed body', { ...JSON_HEADERS, 'content-encoding': 'gzip' }],
  ])('refuses %s with 415', async (_, headers) => {
    expect(await send(gzipSync('{}'), headers)).toEqual(refusal(415, 'UNSUPPORTED_MEDIA_TYPE'));
  });

  it('refuses a body without a type with 415', async () => {
    expect(await send(new Blob(['{}']), {})).toEqual(refusal(415, 'UNSUPPORTED_MEDIA_TYPE'));
  });

  it('takes content-encoding identity', async () => {
    expect(await send('{}', { ...JSON_HEADERS, 'content-encoding': 'identity' })).toMatchObject({
      status: 201,
    });
  });

  it.each<[string, RequestInit['body']]>([
    ['broken JSON', '{"a":'],
    ['no JSON', 'type=pull'],
    ['more than one value', '{}{}'],
    ['broken UTF-8', Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d])],
    ['half of a character', Buffer.from('{"a":"汉"}').subarray(0, 8)],
    ['a byte order mark', '\ufeff{}'],
    ['a list', '[]'],
    ['a string', '"a"'],
    ['null', 'null'],
    ['lists nested very deep, with an escape', `{"\\u0061":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
  ])('refuses %s with 400', async (_, body) => {
    expect(await send(body)).toEqual(refusal(400, 'INVALID_JSON'));
  });

  it.each([
    ['{"__proto__":{"a":1},"b":{"__proto__":{"c":1}},"d":"__proto__"}', '{"b":{},"d":"__proto__"}'],
    ['{"constructor":{"prototype":{"a":1}},"b":[{"constructor":1}]}', '{"b":[{}]}'],
    [String.raw`{"\u005f_proto__":{"a":1},"\u0063onstructor":1}`, '{}'],
  ])('leaves out keys that lead to prototypes: %s', async (body, kept) => {
    expect(JSON.stringify((await send(body)).body)).toBe(kept);
    expect(({} as Record<string, unknown>)['a']).toBeUndefined();
  });

  it('takes bodies up to the limit, and refuses one byte more with 413', async () => {
    expect(await send(objectOf(BODY_LIMIT_BYTES))).toMatchObject({ status: 201 });
    expect(await send(objectOf(BODY_LIMIT_BYTES + 1))).toEqual(refusal(413, 'BODY_TOO_LARGE'));
  });

  it.each(['/lock/batch', '/lock/batch?x=1', '/lock/batch/', '/LOCK/Batch'])(
    'gives %s more room',
    async (path) => {
      expect(await send(objectOf(BATCH_LIMIT_BYTES), JSON_HEADERS, path)).toMatchObject({ status: 201 });
      expect(await send(objectOf(BATCH_LIMIT_BYTES + 1), JSON_HEADERS, path)).toEqual(
        refusal(413, 'BODY_TOO_LARGE'),
      );
    },
  );

  it('gives no more room for a query that looks like a batch', async () => {
    expect(await send(objectOf(BODY_LIMIT_BYTES + 1), JSON_HEADERS, '/echo?x=/batch')).toMatchObject({
      status: 413,
    });
  });

  it('refuses by the announced length, before the body comes', async () => {
    const connection = await RawConnection.open(server.port);
    connection.send(ANNOUNCED);
    expect(await connection.until('"BODY_TOO_LARGE"')).toContain('HTTP/1.1 413 ');
    connection.socket.destroy();
  });

  it('refuses a body of unknown length as soon as it is too long, and only once', async () => {
    const before = refused;
    const connection = await RawConnection.open(server.port);
    connection.send(CHUNKED + chunk(objectOf(BODY_LIMIT_BYTES)) + chunk(' '));
    await connection.until('"BODY_TOO_LARGE"');
    connection.send(`${chunk('more')}0\r\n\r\n${CHUNKED}${chunk('{"next":1}')}0\r\n\r\n`);
    await connection.until('"next":1');
    const answers = await connection.send(`${CHUNKED}${chunk('{"last":1}')}0\r\n\r\n`).until('"last":1');
    expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 201', 'HTTP/1.1 201']);
    expect(refused).toBe(before + 1);
    connection.socket.destroy();
  });

  it('lets a refused sender finish, and keeps its connection', async () => {
    const body = objectOf(1_000_000);
    const connection = await RawConnection.open(server.port);
    const request = (text: string) =>
      `POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
    connection.send(request(body)).send(request('{"next":1}'));
    expect(await connection.until('"next":1')).toContain('"BODY_TOO_LARGE"');
    connection.socket.destroy();
  });

  it.each([
    ['of unknown length', CHUNKED, chunk('x'.repeat(MEGABYTE))],
    ['of known length', ANNOUNCED, 'x'.repeat(MEGABYTE)],
  ])('cuts off a refused sender %s who does not stop', async (_, head, block) => {
    const connection = await RawConnection.open(server.port);
    connection.send(head);
    for (let sent = 0; sent <= DISCARD_LIMIT_BYTES + 2 * MEGABYTE; sent += MEGABYTE) connection.send(block);
    expect(await connection.toEnd()).toContain('"BODY_TOO_LARGE"');
  });

  it('survives senders who go away in the middle, and does not call the handler', async () => {
    const before = handled;
    const half =
      'POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"a"';
    for (const text of [half, CHUNKED + chunk('{"a":'), CHUNKED + chunk(objectOf(BODY_LIMIT_BYTES + 1))]) {
      const connection = await RawConnection.open(server.port);
      connection.send(text).socket.end();
      await connection.closed;
    }
    const reset = await RawConnection.open(server.port);
    reset.send(half).socket.resetAndDestroy();
    expect(await send('{"alive":true}')).toMatchObject({ status: 201 });
    expect(handled).toBe(before + 1);
  });

  it('leaves alone a body that somebody has read before', async () => {
    const other = await serveNest(App, (app) =>
      app.use((req: Request, _: Response, next: () => void) => {
        req.body = { read: 'before' };
        next();
      }),
    );
    const response = await fetch(`${other.url}/echo`, {
      method: 'POST',
      headers: JSON_HEADERS,
      body: '{"a":1}',
    });
    expect(await response.json()).toEqual({ body: { read: 'before' } });
    await other.close();
  });
});
