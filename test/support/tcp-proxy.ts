import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What becomes of what the server says: passed on, kept back, or thrown away with the connection left open. */
export type Mode = 'pass' | 'buffer' | 'half-open';

/** Decides by the first line of a connection's first request, for example `GET /sessions/x/events HTTP/1.1`. */
export type ModeOf = (firstLine: string) => Mode;

/** A proxy between client and server that can break every way proxies break. */
export class TcpProxy {
  /** The first line of every request that came through, in order. */
  readonly requests: string[] = [];
  /** For connections whose first request is yet to come. */
  modeOf: ModeOf = () => 'pass';
  private readonly links = new Set<Link>();

  private constructor(
    private readonly server: Server,
    readonly port: number,
    private readonly target: number,
  ) {
    server.on('connection', (socket) => this.accept(socket));
  }

  static async start(target: number): Promise<TcpProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server, (server.address() as AddressInfo).port, target);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** How many requests began like this. */
  count(beginning: string): number {
    return this.requests.filter((line) => line.startsWith(beginning)).length;
  }

  /** Breaks connections that are open, all or those whose first request looks like this. */
  cut(which: (firstLine: string) => boolean = () => true): void {
    for (const link of this.links) if (which(link.firstLine)) link.destroy();
  }

  /** From here on nothing more comes through connections like these; they stay open. */
  freeze(which: (firstLine: string) => boolean = () => true): void {
    for (const link of this.links) if (which(link.firstLine)) link.mode = 'half-open';
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  private accept(client: Socket): void {
    const link = new Link(client, connect(this.target, '127.0.0.1'), (line) => {
      this.requests.push(line);
      return this.modeOf(line);
    });
    this.links.add(link);
    client.on('close', () => this.links.delete(link));
  }
}

class Link {
  firstLine = '';
  mode: Mode = 'pass';

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    onRequest: (line: string) => Mode,
  ) {
    client.on('data', (data: Buffer) => {
      for (const [line] of data.toString('latin1').matchAll(/^(?:GET|POST|DELETE) .* HTTP\/1\.1$/gm)) {
        const mode = onRequest(line);
        if (this.firstLine === '') this.mode = mode;
        this.firstLine ||= line;
      }
      if (this.mode !== 'half-open') server.write(data);
    });
    server.on('data', (data) => {
      if (this.mode === 'pass') client.write(data);
    });
    for (const socket of [client, server]) {
      socket.on('error', () => undefined).on('close', () => this.destroy());
    }
  }

  destroy(): void {
    this.client.destroy();
    this.server.destroy();
  }
}
