import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';

/** What becomes of one request for a blob. */
export type Fault =
  /** Another answer instead. */
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** The connection breaks after so many bytes of the body. */
  | { readonly cutAfter: number }
  /** As many bytes as there should be, one of them another. */
  | { readonly wrongByteAt: number }
  /** So many bytes too few, or too many when negative, and the length is not announced. */
  | { readonly missing: number };

/** The fault of the n-th request for this blob, from 1; undefined: it is served. The answer waits for it. */
export type FaultOf = (digest: string, n: number) => Fault | undefined | Promise<Fault | undefined>;

export interface BlobRequest {
  readonly digest: string;
  readonly range: string | undefined;
  readonly atMs: number;
}

/** Stands in front of a registry and answers requests for blobs badly. */
export class FaultyRegistry {
  readonly requests: BlobRequest[] = [];
  faultOf: FaultOf = () => undefined;

  private constructor(
    private readonly server: Server,
    private readonly target: string,
  ) {
    server.on('request', (request, response) => void this.answer(request, response));
  }

  static async start(target: string): Promise<FaultyRegistry> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FaultyRegistry(server, target);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  of(digest: string): BlobRequest[] {
    return this.requests.filter((request) => request.digest === digest);
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fault = await this.faultFor(request);
    if (fault && 'status' in fault) {
      response.writeHead(fault.status, { 'content-length': 0, ...fault.headers }).end();
      return;
    }
    const { range } = request.headers;
    const headers = range === undefined ? {} : { range };
    get(`${this.target}${request.url}`, { headers, agent: false }, (answer) => {
      void readAll(answer).then((body) => reply(response, answer, body, fault));
    });
  }

  private faultFor({ url = '', headers }: IncomingMessage): ReturnType<FaultOf> {
    const digest = /\/blobs\/(sha256:[0-9a-f]+)$/.exec(url)?.[1];
    if (digest === undefined) return undefined;
    this.requests.push({ digest, range: headers.range, atMs: performance.now() });
    return this.faultOf(digest, this.of(digest).length);
  }
}

function reply(response: ServerResponse, answer: IncomingMessage, body: Buffer, fault?: Fault): void {
  const headers = { ...answer.headers };
  if (fault && 'missing' in fault) delete headers['content-length'];
  response.writeHead(answer.statusCode ?? 0, headers);
  if (!fault || 'status' in fault) response.end(body);
  else if ('cutAfter' in fault) {
    response.write(body.subarray(0, fault.cutAfter), () => response.destroy());
  } else if ('wrongByteAt' in fault) {
    body[fault.wrongByteAt]! ^= 1;
    response.end(body);
  } else {
    const padding = Buffer.alloc(Math.max(0, -fault.missing));
    response.end(Buffer.concat([body.subarray(0, body.length - fault.missing), padding]));
  }
}

async function readAll(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
