import { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { type HttpException } from '@nestjs/common';
import { type NextFunction, type Request, type Response } from 'express';
import { Absence } from './absence.js';
import { bodyTooLarge, unsupportedMediaType } from './body-errors.js';
import { parseJsonObject } from './parse-json-object.js';

/** One request names a handful of strings of a few hundred characters; an `error` may bring a stack trace. */
export const BODY_LIMIT_BYTES = 64 * 1024;

/** A batch is up to 256 such requests. */
export const BATCH_LIMIT_BYTES = 1024 * 1024;

/**
 * How much of a refused body is still read, and thrown away. Closing on a sender who is still sending resets the
 * connection, and the answer with it; this is what is under way by the time a client sees the answer and stops.
 */
export const DISCARD_LIMIT_BYTES = 4 * 1024 * 1024;

const BATCH_PATH = /\/batch\/?$/i;

/**
 * Reads JSON bodies into `req.body`, instead of body-parser: one object in UTF-8, sent uncompressed as
 * `application/json`. A request without a body has the body `{}`.
 *
 * Refuses with `BODY_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE` or `INVALID_JSON` (as `HttpException`s, for the app's filter)
 * as soon as it knows. A missing content type is refused too: browsers may send such a body across sites unasked.
 * Nothing happens for a sender who goes away in the middle: there is nobody to answer, and `close` tells whoever cares. Nor for one who had gone
 * before this process, having been stopped, came to read what it sent: it has asked somebody else by now, and what is done for it late
 * nobody would undo.
 * A refused request costs its connection only if it goes on sending past `DISCARD_LIMIT_BYTES`.
 *
 * Keeps no raw body, and does not carry the asynchronous context (`AsyncLocalStorage`) of middleware before it.
 */
export class JsonBodyReader {
  private readonly absence = new Absence();

  readonly handle = (req: Request, _res: Response, next: NextFunction): void => {
    if (req.body !== undefined) return next();
    if (!announcesBody(req.headers)) {
      req.body = {};
      return next();
    }
    const limitBytes = limitFor(req.url);
    const refusal = refusalOf(req.headers, limitBytes);
    if (refusal === undefined) return this.read(req, limitBytes, next);
    discardRest(req);
    next(refusal);
  };

  private read(req: Request, limitBytes: number, next: NextFunction): void {
    const chunks: Buffer[] = [];
    let length = 0;
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      chunks.push(chunk);
      if (length <= limitBytes) return;
      req.off('data', onData).off('end', onEnd);
      discardRest(req);
      next(bodyTooLarge(limitBytes));
    };
    const onEnd = (): void => {
      try {
        req.body = length === 0 ? {} : parseJsonObject(joined(chunks));
      } catch (error) {
        return next(error);
      }
      if (this.absence.isJustOver()) unlessGone(req, next);
      else next();
    };
    req.on('data', onData).on('end', onEnd);
  }
}

/** Whoever has closed the connection is heard of in the next turn of the event loop, when what was sent before has been read. */
function unlessGone({ socket }: IncomingMessage, next: NextFunction): void {
  setImmediate(() =>
    setImmediate(() => {
      if (!socket.destroyed && !socket.readableEnded) next();
    }),
  );
}

/** RFC 9112, 6.3: without either header there is no body. */
function announcesBody(headers: IncomingHttpHeaders): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

function limitFor(url: string): number {
  const query = url.indexOf('?');
  return BATCH_PATH.test(query < 0 ? url : url.slice(0, query)) ? BATCH_LIMIT_BYTES : BODY_LIMIT_BYTES;
}

function refusalOf(headers: IncomingHttpHeaders, limitBytes: number): HttpException | undefined {
  const type = headers['content-type'];
  if (type !== 'application/json' && !isJson(type)) {
    return unsupportedMediaType('Send the body as application/json in UTF-8.');
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return unsupportedMediaType('Send the body uncompressed, without content-encoding.');
  }
  return Number(headers['content-length']) > limitBytes ? bodyTooLarge(limitBytes) : undefined;
}

function isJson(contentType = ''): boolean {
  const [type, ...parameters] = contentType.toLowerCase().split(';');
  return (
    type?.trim() === 'application/json' &&
    parameters.every((parameter) => !/^\s*charset\s*=(?!\s*"?utf-?8"?\s*$)/.test(parameter))
  );
}

function joined(chunks: readonly Buffer[]): Buffer {
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

function discardRest(req: IncomingMessage): void {
  let left = DISCARD_LIMIT_BYTES;
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) req.destroy();
  });
}
