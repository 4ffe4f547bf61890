import { randomBytes } from 'node:crypto';
import { type IncomingMessage, type ServerResponse } from 'node:http';

export const REQUEST_ID_HEADER = 'x-request-id';

/** What may be repeated in a header and in a log without doubt: a proxy's or a client's own id. */
const ACCEPTED = /^[\w.:/+=-]{1,128}$/;

const process = randomBytes(6).toString('base64url');
let requests = 0;

/** Gives every request an id, the caller's own if it brings one, and tells it in the answer. */
export function requestId(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  const given = request.headers[REQUEST_ID_HEADER];
  const accepted = typeof given === 'string' && ACCEPTED.test(given);
  response.setHeader(REQUEST_ID_HEADER, accepted ? given : `${process}.${(++requests).toString(36)}`);
  next();
}
