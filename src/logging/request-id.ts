import { randomBytes } from 'node:crypto';
import { type IncomingMessage } from 'node:http';

export const REQUEST_ID_HEADER = 'x-request-id';

/** What may be repeated in a header and in a log without doubt: a proxy's or a client's own id. */
const ACCEPTED = /^[\w.:/+=-]{1,128}$/;

const process = randomBytes(6).toString('base64url');
let requests = 0;

/** The caller's own id if it brings one, else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers[REQUEST_ID_HEADER];
  const accepted = typeof given === 'string' && ACCEPTED.test(given);
  return accepted ? given : `${process}.${(++requests).toString(36)}`;
}
