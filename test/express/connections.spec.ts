import { createServer as createSecureServer } from 'node:https';
import { afterEach, describe, expect, it } from 'vitest';
import { FastExpressAdapter } from '../../src/common/express/fast-express.adapter.js';
import { RawConnection, serveExpress, type Server } from './servers.js';

const get = (path: string, ...headers: string[]) =>
  ['GET', path, 'HTTP/1.1\r\nHost: h\r\n'].join(' ') + headers.map((line) => `${line}\r\n`).join('') + '\r\n';

const post = (path: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

describe('a connection to our adapter', () => {
  let server: Server | undefined;
  afterEach(() => server?.close());

  async function open(adapter = new FastExpressAdapter()): Promise<RawConnection> {
    server = await serveExpress(adapter, (app) => {
      app.post('/echo', (req, res) => void adapter.reply(res, req.body, 200));
      app.get('/later/:ms', (req, res) => {
        setTimeout(() => adapter.reply(res, { later: req.params.ms }, 200), Number(req.params.ms));
      });
    });
    return RawConnection.open(server.port);
  }

  it('is kept for the next request', async () => {
    const connection = await open();
    await connection.send(post('/echo', '{"a":1}')).until('{"a":1}');
    await connection.send(post('/echo', '{"b":2}')).until('{"b":2}');
    const answer = await connection.send(get('/later/0', 'Connection: close')).toEnd();
    expect(answer.match(/HTTP\/1.1 200 OK/g)).toHaveLength(3);
  });

  it('answers requests sent without waiting, in their order', async () => {
    const connection = await open();
    connection.send(get('/later/30') + post('/echo', '{"n":2}') + get('/later/0', 'Connection: close'));
    const bodies = (await connection.toEnd()).match(/\{.*?\}/g);
    expect(bodies).toEqual(['{"later":"30"}', '{"n":2}', '{"later":"0"}']);
  });

  it('that breaks closes every response on it, also those whose turn has not come', async () => {
    const closed: string[] = [];
    let requests = 0;
    const adapter = new FastExpressAdapter();
    server = await serveExpress(adapter, (app) => {
      app.get('/:name', (req, res) => {
        requests++;
        res.once('close', () => closed.push(`${req.params.name} ${res.writableFinished}`));
        if (req.params.name !== 'first') adapter.reply(res, {}, 200);
      });
    });
    const connection = await RawConnection.open(server.port);
    const names = Array.from({ length: 20 }, (_, n) => `behind-${n}`);
    connection.send(get('/first') + names.map((name) => get(`/${name}`)).join(''));
    await expect.poll(() => requests).toBe(21);
    connection.socket.destroy();
    await expect
      .poll(() => closed.toSorted())
      .toEqual(['first', ...names].map((n) => `${n} false`).toSorted());
  });

  it('is closed after an answer to HTTP/1.0', async () => {
    const connection = await open();
    expect(await connection.send('GET /later/0 HTTP/1.0\r\n\r\n').toEnd()).toContain('{"later":"0"}');
  });

  it('may be secure', async () => {
    const adapter = new FastExpressAdapter();
    adapter.initHttpServer({ httpsOptions: {} });
    expect(adapter.getHttpServer()).toBeInstanceOf(createSecureServer().constructor);
  });
});
