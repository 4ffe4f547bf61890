import { once } from 'node:events';
import { Agent, createServer, request, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import * as fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { ask, poolOf } from './http-setup.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 100);

interface Behaviour {
  readonly status: number;
  readonly headers: readonly [string, string][];
  readonly pieces: readonly string[];
  /** How the other end is to know where the answer ends. */
  readonly framing: 'length' | 'chunks' | 'chunks and trailers' | 'end of the connection';
  readonly hints: number;
  readonly isClosed: boolean;
}

const behaviour: fc.Arbitrary<Behaviour> = fc.record({
  status: fc.constantFrom(200, 201, 204, 206, 302, 304, 400, 403, 404, 429, 500, 503),
  headers: fc.array(
    fc.tuple(
      fc.constantFrom('Content-Type', 'retry-after', 'X-Thing', 'set-cookie'),
      fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/),
    ),
    { maxLength: 4 },
  ),
  pieces: fc.array(
    fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.nat(9).map((n) => `${n}é`.repeat(30_000)),
    ),
    { maxLength: 4 },
  ),
  framing: fc.constantFrom('length', 'chunks', 'chunks and trailers', 'end of the connection'),
  hints: fc.nat(2),
  isClosed: fc.boolean(),
});

function behave(
  response: ServerResponse,
  { status, headers, pieces, framing, hints, isClosed }: Behaviour,
): void {
  for (let n = 0; n < hints; n++) response.writeEarlyHints({ link: '</x>; rel=preload' });
  for (const [name, value] of headers) response.setHeader(name, value);
  if (framing === 'length') response.setHeader('content-length', Buffer.byteLength(pieces.join('')));
  const hasTrailers = framing === 'chunks and trailers' && status !== 204 && status !== 304;
  if (hasTrailers) response.setHeader('trailer', 'x-sum');
  if (framing === 'end of the connection') response.useChunkedEncodingByDefault = false;
  if (isClosed || framing === 'end of the connection') response.setHeader('connection', 'close');
  response.writeHead(status);
  for (const piece of pieces) response.write(piece);
  if (hasTrailers) response.addTrailers({ 'x-sum': '1' });
  response.end();
}

it('hears from any server of Node what Node’s own client hears', async () => {
  let current!: Behaviour;
  const server = createServer((_request, response) => behave(response, current)).listen(0, '127.0.0.1');
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => {
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pool = poolOf({ url });

  async function byNode() {
    const [response] = await once(request(url, { agent }).end(), 'response');
    const body = await textOf(response);
    const { 'content-type': contentType = '', 'retry-after': retryAfter } = response.headers;
    return { status: response.statusCode, contentType, retryAfter, body };
  }

  async function byUs() {
    const asked = ask(pool);
    const body = await asked.text;
    const { status, contentType, retryAfter } = asked.head!;
    return { status, contentType, retryAfter, body };
  }

  await fc.assert(
    fc.asyncProperty(behaviour, async (one) => {
      current = one;
      expect(await byUs()).toEqual(await byNode());
    }),
    { numRuns: RUNS },
  );
});
