import {
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import helmet from 'helmet';
import { JSON_TYPE } from './common/express/fast-express.adapter.js';
import { REQUEST_ID_HEADER, requestIdOf } from './logging/request-id.js';

/** Helmet says the same in every answer, so that it is asked once: names and values in turn. */
const SECURITY: readonly string[] = securityHeaders();

/** What means nothing to a browser but in a document that it shows. */
const FOR_DOCUMENTS = new Set([
  'Cross-Origin-Opener-Policy',
  'Origin-Agent-Cluster',
  'Referrer-Policy',
  'X-DNS-Prefetch-Control',
  'X-Download-Options',
  'X-Permitted-Cross-Domain-Policies',
  'X-XSS-Protection',
]);

const SECURITY_OF_DATA: readonly string[] = SECURITY.filter((_, i) => !FOR_DOCUMENTS.has(SECURITY[i & ~1]!));

/** All headers of an object sent as JSON, but for its length and the id of its request. */
const OF_DATA: readonly string[] = [
  'Content-Type',
  JSON_TYPE,
  'Content-Length',
  '',
  REQUEST_ID_HEADER,
  '',
  ...SECURITY_OF_DATA,
];
const [LENGTH, ID] = [OF_DATA.indexOf('Content-Length') + 1, OF_DATA.indexOf(REQUEST_ID_HEADER) + 1];

function securityHeaders(): string[] {
  const headers: string[] = [];
  const listener = {
    setHeader: (name: string, value: string) => void headers.push(name, value),
    removeHeader: () => undefined,
  };
  helmet({ contentSecurityPolicy: false })({} as IncomingMessage, listener as never, () => undefined);
  return headers;
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/**
 * An answer of the server: it carries the id of its request and the headers that keep browsers out of mischief, unless
 * its handler says something else. They are added when the head is written, all at once: setting a dozen headers one
 * by one in every answer takes longer than parsing the request. Objects sent as JSON go without what only documents need.
 */
export class HoldfastResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  private id: string | undefined = undefined;

  get requestId(): string {
    return (this.id ??= requestIdOf(this.req));
  }

  override writeHead(statusCode: number, reason?: string | Headers, headers?: Headers): this {
    const given = typeof reason === 'string' ? headers : reason;
    if (isDataAlone(given) && this.getHeaderNames().length === 0) {
      const all: OutgoingHttpHeader[] = OF_DATA.slice();
      all[LENGTH] = given[LENGTH]!;
      all[ID] = this.requestId;
      return typeof reason === 'string'
        ? super.writeHead(statusCode, reason, all)
        : super.writeHead(statusCode, all);
    }
    this.setUnlessSet(REQUEST_ID_HEADER, this.requestId);
    for (let i = 0; i < SECURITY.length; i += 2) this.setUnlessSet(SECURITY[i]!, SECURITY[i + 1]!);
    return typeof reason === 'string'
      ? super.writeHead(statusCode, reason, given)
      : super.writeHead(statusCode, given);
  }

  private setUnlessSet(name: string, value: string): void {
    if (!this.hasHeader(name)) this.setHeader(name, value);
  }
}

/** Whether these are all the headers of an object sent as JSON: see `FastExpressAdapter.reply`. */
function isDataAlone(headers: Headers | undefined): headers is OutgoingHttpHeader[] {
  return (
    Array.isArray(headers) &&
    headers.length === 4 &&
    headers[0] === 'Content-Type' &&
    headers[1] === JSON_TYPE &&
    headers[2] === 'Content-Length'
  );
}
