import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type ErrorRequestHandler, type Express } from 'express';
import helmet from 'helmet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FastExpressAdapter } from '../../src/common/express/fast-express.adapter.js';
import { serveExpress, type Server } from './servers.js';

let directory: string;

/** One route for each thing that programs do with Express's requests and responses. */
function everything(app: Express): void {
  app.use(helmet());
  app.use((_, res, next) => {
    res.set('X-Request-Id', '7').vary('Origin');
    next();
  });
  app.get('/request/:id', (req, res) => {
    res.json({
      header: [req.get('x-one'), req.header('X-One'), req.get('referrer')],
      query: { ...req.query },
      params: req.params,
      ip: [req.ip, req.ips, req.protocol, req.secure, req.hostname.length > 0],
      accepts: [req.accepts('json', 'html'), req.acceptsLanguages('de', 'en'), req.acceptsEncodings('gzip')],
      path: [req.path, req.baseUrl, req.originalUrl, req.route.path],
      more: [req.xhr, req.fresh, req.stale, req.subdomains, req.is('json'), req.range(100)],
    });
  });
  app.get('/json', (_, res) => void res.status(201).json({ ü: 'ß' }));
  app.get('/send/text', (_, res) => void res.send('text'));
  app.get('/send/buffer', (_, res) => void res.send(Buffer.from([1, 2, 3])));
  app.get('/send/object', (_, res) => void res.send({ a: 1 }));
  app.get('/send/nothing', (_, res) => void res.send());
  app.get('/send/status', (_, res) => void res.sendStatus(202));
  app.get('/204', (_, res) => void res.status(204).send('gone'));
  app.get('/jsonp', (_, res) => void res.jsonp({ a: 1 }));
  app.get('/set', (_, res) => void res.set({ A: '1', B: '2' }).append('A', '3').links({ next: '/2' }).end());
  app.get('/cookie', (_, res) => {
    res.cookie('a', { b: 1 }, { httpOnly: true, path: '/x' }).clearCookie('c').end();
  });
  app.get('/redirect', (_, res) => res.redirect(303, '/else where'));
  app.get('/type', (_, res) => void res.type('svg').send('<svg/>'));
  app.get('/format', (_, res) => {
    res.format({ text: () => res.send('text'), json: () => res.json({ format: 'json' }) });
  });
  app.get('/file', (_, res) => res.sendFile(join(directory, 'a file.txt')));
  app.get('/download', (_, res) => res.download(join(directory, 'a file.txt'), 'ä.txt'));
  app.get('/attachment', (_, res) => void res.attachment('b.json').send('{}'));
  app.use('/static', express.static(directory, { etag: false }));
  app.get('/locals', (_, res) => void res.json(Object.keys(res.locals)));
  app.post('/echo', (req, res) => void res.json(req.body));
  app.get('/throws', () => {
    throw new Error('thrown');
  });
  app.get('/rejects', () => Promise.reject(new Error('rejected')));
  const router = express.Router({ mergeParams: true });
  router.param('n', (_, res, next, n: string) => {
    res.locals['n'] = Number(n) * 2;
    next();
  });
  router.get('/:n', (req, res) => void res.json([req.baseUrl, req.url, req.params, res.locals['n']]));
  app.use('/mounted/:room', router);
  app.use(((error: Error, req, res, next) => {
    if (res.headersSent) return next(error);
    res.status(500).json({ error: error.message, at: req.path });
  }) satisfies ErrorRequestHandler);
}

/** As a client sees it; without what differs by port or by time. */
async function look(server: Server, path: string, init: RequestInit) {
  const response = await fetch(server.url + path, { redirect: 'manual', ...init });
  const { date: _, 'last-modified': __, ...headers } = Object.fromEntries(response.headers);
  return { status: response.status, headers, body: await response.text() };
}

describe('Express on our adapter', () => {
  let ours: Server;
  let stock: Server;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'holdfast-express-'));
    await writeFile(join(directory, 'a file.txt'), 'content of a file');
    ours = await serveExpress(new FastExpressAdapter(), everything);
    stock = await serveExpress(
      new ExpressAdapter(express().disable('etag').disable('x-powered-by')),
      everything,
    );
  });

  afterAll(async () => {
    await Promise.all([ours.close(), stock.close()]);
    await rm(directory, { recursive: true });
  });

  const json = { method: 'POST', headers: { 'content-type': 'application/json' } };
  const wants = (accept: string) => ({ headers: { accept } });

  it.each<[string, string, RequestInit]>([
    ['reads a request', '/request/7%20a?a=1&b=2&b=3&c', { headers: { 'x-one': '1', referer: 'r' } }],
    ['negotiates', '/request/1', { headers: { accept: 'text/html', 'accept-language': 'en, de;q=0.5' } }],
    [
      'knows XHR and ranges',
      '/request/1',
      { headers: { 'x-requested-with': 'xmlhttprequest', range: 'bytes=1-5' } },
    ],
    ['sends JSON', '/json', {}],
    ['answers HEAD of JSON', '/json', { method: 'HEAD' }],
    ['sends text', '/send/text', {}],
    ['sends a buffer', '/send/buffer', {}],
    ['sends an object', '/send/object', {}],
    ['sends nothing', '/send/nothing', {}],
    ['sends a status', '/send/status', {}],
    ['sends 204 without its body', '/204', {}],
    ['sends JSONP', '/jsonp?callback=f', {}],
    ['sets headers', '/set', {}],
    ['sets cookies', '/cookie', {}],
    ['redirects', '/redirect', {}],
    ['redirects in HTML', '/redirect', wants('text/html')],
    ['sets a type', '/type', {}],
    ['formats as text', '/format', wants('text/plain')],
    ['formats as JSON', '/format', wants('application/json')],
    ['cannot format', '/format', wants('image/png')],
    ['sends a file', '/file', {}],
    ['sends part of a file', '/file', { headers: { range: 'bytes=3-6' } }],
    ['sends a download', '/download', {}],
    ['sends an attachment', '/attachment', {}],
    ['serves static files', '/static/a%20file.txt', {}],
    ['has locals', '/locals', {}],
    ['takes a body', '/echo', { ...json, body: '{"a":[1,{"b":null}],"ü":"ß"}' }],
    ['hands a thrown error to error middleware', '/throws', {}],
    ['hands a rejection to error middleware', '/rejects', {}],
    ['has routers', '/mounted/blue/21?x', {}],
    ['answers 404', '/nowhere', {}],
    ['answers 404 to another method', '/json', { method: 'DELETE' }],
    ['answers OPTIONS', '/json', { method: 'OPTIONS' }],
    ['answers HEAD of a file', '/file', { method: 'HEAD' }],
  ])('%s as Express alone does: %s', async (_, path, init) => {
    expect(await look(ours, path, init)).toEqual(await look(stock, path, init));
  });

  it('sends no ETag and no X-Powered-By', async () => {
    const plain = await serveExpress(new FastExpressAdapter(), (app) =>
      app.get('/', (_, res) => void res.json({})),
    );
    const { headers } = await look(plain, '/', {});
    await plain.close();
    expect(Object.keys(headers).toSorted()).toEqual([
      'connection',
      'content-length',
      'content-type',
      'keep-alive',
    ]);
  });

  it('believes a proxy only when told to', async () => {
    const forwarded = { headers: { 'x-forwarded-for': '10.1.2.3', 'x-forwarded-proto': 'https' } };
    expect((await look(ours, '/request/1', forwarded)).body).toContain('["127.0.0.1",[],"http",false');
    const adapter = new FastExpressAdapter();
    adapter.set('trust proxy', 'loopback');
    const trusting = await serveExpress(adapter, everything);
    expect((await look(trusting, '/request/1', forwarded)).body).toContain(
      '["10.1.2.3",["10.1.2.3"],"https",true',
    );
    await trusting.close();
  });

  it('refuses a query that is not valid UTF-8, and shows a key given twice as a list', async () => {
    expect((await look(ours, '/request/1?a=%ff', {})).body).toContain('not valid percent-encoded');
    expect((await look(ours, '/request/1?a=1&a=2', {})).body).toContain('"query":{"a":["1","2"]}');
    expect((await look(ours, `/request/1?${'x&'.repeat(2000)}a=1&a=2`, {})).body).toContain('"a":["1","2"]}');
  });
});
