import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type NestApplicationOptions, StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express } from 'express';
import { JsonBodyReader } from './json-body-reader.js';
import { answerMalformedRequests } from './malformed-requests.js';
import { adoptMessageClasses, type MessageClasses } from './message-classes.js';
import { parseQuery } from './parse-query.js';
import { closeWithConnection } from './queued-responses.js';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Express sends these without a body, whatever the handler returned. */
const BODILESS = new Set([204, 205, 304]);

/**
 * Nest on Express without what makes Express slow: prototypes swapped on every request (see `adoptMessageClasses`),
 * body-parser (see `JsonBodyReader`), ETags of every answer, and the way from a returned object to `res.end`.
 *
 * Everything else is Express and `ExpressAdapter`: routers, middleware, `req.*` and `res.*`, `@Res()`, `@Sse()`.
 * Not promised: Express's settings `json escape`, `json replacer` and `json spaces` for returned objects (`res.json`
 * keeps them), form bodies, and raw bodies, which are refused at the start.
 */
export class FastExpressAdapter extends ExpressAdapter {
  private readonly messages: MessageClasses;
  protected readonly bodies = new JsonBodyReader();
  private cutsConnections = false;

  constructor(
    private readonly app: Express = express(),
    Response?: typeof ServerResponse,
  ) {
    super(app);
    app.disable('x-powered-by').disable('etag').set('query parser', parseQuery);
    this.messages = adoptMessageClasses(app, Response);
  }

  override initHttpServer(options: NestApplicationOptions): void {
    const { httpsOptions, forceCloseConnections = false, ...rest } = options ?? {};
    super.initHttpServer(rest);
    this.cutsConnections = forceCloseConnections;
    const handle = (request: IncomingMessage, response: ServerResponse) => {
      closeWithConnection(response);
      this.serve(request, response);
    };
    this.httpServer = httpsOptions
      ? createSecureServer({ ...httpsOptions, ...this.messages }, handle)
      : createServer(this.messages, handle);
    answerMalformedRequests(this.httpServer);
  }

  protected serve(request: IncomingMessage, response: ServerResponse): void {
    this.app(request, response);
  }

  override close(): Promise<unknown> | undefined {
    const closed = super.close();
    if (this.cutsConnections) this.httpServer.closeAllConnections();
    return closed;
  }

  override registerParserMiddleware(_prefix?: string, rawBody?: boolean): void {
    if (rawBody === true) throw new Error('FastExpressAdapter keeps no raw bodies; leave out `rawBody`.');
    this.use(this.bodies.handle);
  }

  override reply(response: ServerResponse, body: unknown, statusCode?: number): unknown {
    const json = isPlainReply(response, body, statusCode) ? toJson(body) : undefined;
    if (json === undefined) return super.reply(response, body, statusCode);
    const length = Buffer.byteLength(json);
    response.writeHead(statusCode ?? response.statusCode, [
      'Content-Type',
      JSON_TYPE,
      'Content-Length',
      String(length),
    ]);
    return endWith(response, json, length === json.length);
  }
}

/**
 * `end(text)` would put an empty string behind it and have both written as a list, which takes longer than the text
 * alone. With nothing left to be written, `end` only says so. ASCII is the same as Latin-1, which Node writes at once where
 * it would make room for three times a long text of UTF-8 first.
 */
function endWith(response: ServerResponse, text: string, isAscii: boolean): ServerResponse {
  const { socket } = response;
  socket?.cork();
  response.write(text, isAscii ? 'latin1' : 'utf8');
  socket?.uncork();
  return response.end();
}

/** `undefined` for a `toJSON` that returns nothing, which TypeScript's own signature leaves out. */
function toJson(body: unknown): string | undefined {
  return JSON.stringify(body);
}

/** Whether this is an object, sent as JSON for the sole reason that it is one, with nothing else to be decided. */
function isPlainReply(response: ServerResponse, body: unknown, statusCode = response.statusCode): boolean {
  return (
    typeof body === 'object' &&
    body !== null &&
    !(body instanceof StreamableFile) &&
    !(body instanceof Error) &&
    !BODILESS.has(statusCode) &&
    !response.hasHeader('Content-Type') &&
    !response.hasHeader('Transfer-Encoding') &&
    !isConditional(response.req)
  );
}

/** Whether the answer may be 304, for a handler that sets `ETag` or `Last-Modified` itself. */
function isConditional({ headers }: IncomingMessage): boolean {
  return headers['if-none-match'] !== undefined || headers['if-modified-since'] !== undefined;
}
