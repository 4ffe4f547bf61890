import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  BadRequestException,
  Body,
  type CallHandler,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  Headers,
  HttpCode,
  Injectable,
  Ip,
  type MiddlewareConsumer,
  Module,
  type NestInterceptor,
  Param,
  ParseIntPipe,
  Post,
  Query,
  Redirect,
  Req,
  Res,
  Sse,
  StreamableFile,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { type Request, type Response } from 'express';
import { concat, map, NEVER, of } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveNest, type Server } from './servers.js';

@Injectable()
class KeyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest<Request>().get('x-key') === 'right';
  }
}

@Injectable()
class Wrap implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(map((value: unknown) => ({ wrapped: value })));
  }
}

/** One route for each way in which Nest answers. */
@Controller()
class Answers {
  @Get('object') object() {
    return { a: 1, ü: 'ß', date: new Date(0), left: undefined };
  }
  @Get('list') list() {
    return [1, 'a', null];
  }
  @Get('undefined') undefined() {}
  @Get('null') null() {
    return null;
  }
  @Get('text') text() {
    return 'text ü';
  }
  @Get('number') number() {
    return 42;
  }
  @Get('false') false() {
    return false;
  }
  @Get('buffer') buffer() {
    return Buffer.from('abc');
  }
  @Get('stream') stream() {
    return new StreamableFile(Readable.from(['a', 'b']), {
      type: 'text/x',
      disposition: 'inline',
      length: 2,
    });
  }
  @Get('observable') observable() {
    return of({ last: 1 }, { last: 2 });
  }
  @Get('unserialisable') unserialisable() {
    return { toJSON: () => undefined };
  }
  @Get('circular') circular() {
    const circle: Record<string, unknown> = {};
    return (circle['self'] = circle);
  }
  @Get('typed') @Header('Content-Type', 'application/vnd.x+json') typed() {
    return { typed: true };
  }
  @Get('chunked') @Header('Transfer-Encoding', 'chunked') chunked() {
    return { chunked: true };
  }
  @Get('headed') @Header('X-A', '1') @Header('Cache-Control', 'no-store') @HttpCode(203) headed() {
    return { headed: true };
  }
  @Get('204') @HttpCode(204) bodiless() {
    return { never: 'sent' };
  }
  @Get('205') @HttpCode(205) reset() {
    return { never: 'sent' };
  }
  @Get('tagged') @Header('ETag', '"1"') tagged() {
    return { tagged: true };
  }
  @Get('dated') @Header('Last-Modified', new Date(0).toUTCString()) dated() {
    return { dated: true };
  }
  @Get('redirect') @Redirect('/object', 307) redirect() {}
  @Get('error') error() {
    return new Error('returned, not thrown');
  }
  @Get('error/500') @HttpCode(500) error500() {
    return Object.assign(new Error('returned'), { secret: 'never sent' });
  }
  @Get('throws') throws() {
    throw new Error('secret');
  }
  @Get('refuses') refuses() {
    throw new BadRequestException({ code: 'X', message: 'no' });
  }
  @Get('errortext') @Header('Content-Type', 'text/plain') errorText() {
    throw new BadRequestException({ code: 'X', message: 'no' });
  }
  @Get('pipe/:n') pipe(
    @Param('n', ParseIntPipe) n: number,
    @Query('a') a: string,
    @Headers('x-key') key: string,
  ) {
    return { n, a, key };
  }
  @Get('guarded') @UseGuards(KeyGuard) guarded() {
    return { guarded: true };
  }
  @Get('wrapped') @UseInterceptors(Wrap) wrapped() {
    return { inner: true };
  }
  @Get('passthrough') passthrough(@Res({ passthrough: true }) res: Response, @Req() req: Request) {
    res.status(202).set('X-Path', req.path).cookie('a', 'b');
    return { passthrough: true };
  }
  @Get('own') own(@Res() res: Response, @Ip() ip: string) {
    res.status(418).json({ ip });
  }
  @Sse('events') events() {
    return of({ id: '1', type: 'a', data: { n: 1 } }, { id: '2', data: 'two' });
  }
  @Sse('forever') forever() {
    return concat(of({ id: '1', data: 'first' }), NEVER);
  }
  @Post('body') body(@Body() body: object, @Body('a') a: unknown) {
    return { body, a };
  }
}

@Module({ controllers: [Answers] })
class App {
  configure(consumer: MiddlewareConsumer) {
    const middleware = (_: Request, res: Response, next: () => void) => {
      res.setHeader('X-Middleware', 'ran');
      next();
    };
    consumer.apply(middleware).forRoutes('*path');
  }
}

/** As a client sees it, without what differs by time or on purpose. `fetch` would bypass every cache. */
async function look(server: Server, path: string, { method = 'GET', headers = {}, body = '' }: Question) {
  const request = httpRequest(server.url + path, { method, headers }).end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const { date: _, etag, 'x-powered-by': __, ...rest } = response.headers;
  const own = etag?.startsWith('W/') ? {} : { etag };
  return { status: response.statusCode, headers: { ...rest, ...own }, body: await text(response) };
}

interface Question {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

describe('Nest on our adapter', () => {
  let ours: Server;
  let stock: Server;

  beforeAll(async () => {
    ours = await serveNest(App);
    stock = await serveNest(App, undefined, { adapter: new ExpressAdapter() });
  });
  afterAll(() => Promise.all([ours.close(), stock.close()]));

  const ANSWERS =
    'object list undefined null text number false buffer stream observable unserialisable circular typed chunked ' +
    'headed 204 205 tagged redirect error error/500 throws refuses errortext pipe/7?a=1 pipe/x guarded wrapped passthrough own events nowhere';

  it.each(ANSWERS.split(' '))('answers GET /%s as on the stock adapter', async (path) => {
    expect(await look(ours, `/${path}`, {})).toEqual(await look(stock, `/${path}`, {}));
  });

  it.each(['object', 'text', 'stream', 'headed', 'throws'])(
    'answers HEAD /%s as the stock one',
    async (path) => {
      const head = { method: 'HEAD' };
      expect(await look(ours, `/${path}`, head)).toEqual(await look(stock, `/${path}`, head));
    },
  );

  it.each<[string, Question]>([
    ['/tagged', { headers: { 'if-none-match': '"1"' } }],
    ['/tagged', { headers: { 'if-none-match': '"2"' } }],
    ['/dated', { headers: { 'if-modified-since': new Date(0).toUTCString() } }],
    ['/guarded', { headers: { 'x-key': 'right' } }],
    ['/body', { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } }],
    ['/object', { method: 'OPTIONS' }],
    ['/object', { method: 'DELETE' }],
  ])('answers %s with %j as the stock one', async (path, init) => {
    expect(await look(ours, path, init)).toEqual(await look(stock, path, init));
  });

  it('answers 304 to a client that has what the handler tagged', async () => {
    expect(await look(ours, '/tagged', { headers: { 'if-none-match': '"1"' } })).toMatchObject({
      status: 304,
      body: '',
    });
  });
});

describe('the life of our adapter', () => {
  it('cuts open streams at the end when told to force', async () => {
    const server = await serveNest(App);
    const { body } = await fetch(`${server.url}/forever`);
    await server.close();
    await expect(body?.pipeTo(new WritableStream())).rejects.toThrow('terminated');
    await expect(fetch(`${server.url}/object`)).rejects.toThrow('fetch failed');
  });

  it('answers 503 while closing when asked to', async () => {
    const server = await serveNest(App, undefined, { return503OnClosing: true });
    server.app.getHttpAdapter().beforeClose?.();
    expect((await fetch(`${server.url}/object`)).status).toBe(503);
    await server.close();
  });

  it('refuses to start with raw bodies', async () => {
    await expect(serveNest(App, undefined, { rawBody: true, abortOnError: false })).rejects.toThrow(
      'no raw bodies',
    );
  });
});
