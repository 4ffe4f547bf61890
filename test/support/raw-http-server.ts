import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** Of a request, once it has come: the bytes of the answer are the test's. */
export type OnRequest = (request: RawRequest, peer: RawPeer) => unknown;

export interface RawRequest {
  readonly line: string;
  readonly head: string;
  readonly body: Buffer;
  /** Of all connections, from 1 on. */
  readonly nth: number;
}

/** A server that reads requests as HTTP/1.1 says and answers with whatever bytes a test wants, or not at all. */
export class RawHttpServer {
  readonly peers: RawPeer[] = [];
  readonly requests: RawRequest[] = [];
  /** Before anything was asked. */
  onConnection: (peer: RawPeer) => unknown = () => {};

  private constructor(
    private readonly server: Server,
    readonly port: number,
    readonly onRequest: OnRequest,
  ) {
    server.on('connection', (socket) => {
      const peer = new RawPeer(socket, this);
      this.peers.push(peer);
      this.onConnection(peer);
    });
  }

  static async start(onRequest: OnRequest, host = '127.0.0.1'): Promise<RawHttpServer> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }).listen(0, host);
    await once(server, 'listening');
    return new RawHttpServer(server, (server.address() as AddressInfo).port, onRequest);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  close(): void {
    for (const { socket } of this.peers) socket.destroy();
    this.server.close();
  }
}

/** The server's end of a connection. */
export class RawPeer {
  isClosed = false;
  /** The client sends no more. */
  isEnded = false;
  private begun = Buffer.alloc(0);

  constructor(
    readonly socket: Socket,
    private readonly server: RawHttpServer,
  ) {
    socket
      .on('data', (data) => this.take(data))
      .on('error', () => {})
      .on('end', () => (this.isEnded = true))
      .on('close', () => (this.isClosed = true));
  }

  say(text: string | Buffer): this {
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text);
    return this;
  }

  private take(data: Buffer): void {
    this.begun = Buffer.concat([this.begun, data]);
    for (;;) {
      const end = this.begun.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = this.begun.toString('latin1', 0, end);
      const bodyEnd = end + 4 + Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
      if (this.begun.length < bodyEnd) return;
      const body = this.begun.subarray(end + 4, bodyEnd);
      const nth = this.server.requests.length + 1;
      const request = { line: head.split('\r\n')[0]!, head, body, nth };
      this.begun = this.begun.subarray(bodyEnd);
      this.server.requests.push(request);
      this.server.onRequest(request, this);
    }
  }
}

/** An answer as most servers give it. */
export function answer(body: string | Buffer, ...headers: string[]): Buffer {
  const bytes = Buffer.from(body);
  const head = ['HTTP/1.1 200 OK', ...headers, `content-length: ${bytes.length}`].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), bytes]);
}
