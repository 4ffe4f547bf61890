import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

const TICK_MS = 5;

/** After a stall of this process the time is not made up for: that would be a burst. */
const LONGEST_TICK_MS = 50;

/** What a connection may have waiting here before its server is made to wait. */
const HIGH_WATER = 64 * 1024;

/**
 * A link of limited speed to a registry, which all connections share evenly: downloads take time, and eight that fetch
 * the same take eight times as long as one. Only what the server says is slowed down.
 */
export class SharedLink {
  /** What has come from the server. */
  bytes = 0;
  private readonly connections = new Set<Connection>();
  private readonly timer: NodeJS.Timeout;
  private last = performance.now();

  private constructor(
    private readonly server: Server,
    readonly port: number,
    private readonly target: number,
    public bytesPerSecond: number,
  ) {
    server.on('connection', (socket) => this.accept(socket));
    this.timer = setInterval(() => this.tick(), TICK_MS);
  }

  static async start(target: number, bytesPerSecond: number): Promise<SharedLink> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new SharedLink(server, (server.address() as AddressInfo).port, target, bytesPerSecond);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Breaks every connection there is. */
  cut(): void {
    for (const connection of this.connections) connection.destroy();
  }

  close(): void {
    clearInterval(this.timer);
    this.cut();
    this.server.close();
  }

  private accept(client: Socket): void {
    const connection = new Connection(client, connect(this.target, '127.0.0.1'));
    this.connections.add(connection);
    client.on('close', () => this.connections.delete(connection));
  }

  private tick(): void {
    const now = performance.now();
    let budget = Math.floor((this.bytesPerSecond * Math.min(now - this.last, LONGEST_TICK_MS)) / 1000);
    this.last = now;
    const ready = [...this.connections].filter((connection) => connection.waiting > 0);
    ready.sort((a, b) => a.waiting - b.waiting);
    for (const [n, connection] of ready.entries()) {
      const sent = connection.send(Math.floor(budget / (ready.length - n)));
      budget -= sent;
      this.bytes += sent;
    }
  }
}

class Connection {
  waiting = 0;
  private readonly chunks: Buffer[] = [];
  private ended = false;

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
  ) {
    client.on('data', (data) => server.write(data));
    server.on('data', (data: Buffer) => {
      this.chunks.push(data);
      this.waiting += data.length;
      if (this.waiting > HIGH_WATER) server.pause();
    });
    server.on('end', () => {
      this.ended = true;
      if (this.waiting === 0) client.end();
    });
    client.on('error', () => undefined).on('close', () => this.destroy());
    server.on('error', () => this.destroy());
  }

  /** At most so many bytes of what waits; how many it was. */
  send(most: number): number {
    let sent = 0;
    while (sent < most && this.chunks.length > 0) {
      const chunk = this.chunks[0]!;
      const part = chunk.subarray(0, most - sent);
      if (part.length === chunk.length) this.chunks.shift();
      else this.chunks[0] = chunk.subarray(part.length);
      this.client.write(part);
      sent += part.length;
    }
    this.waiting -= sent;
    if (this.waiting <= HIGH_WATER) this.server.resume();
    if (this.ended && this.waiting === 0) this.client.end();
    return sent;
  }

  destroy(): void {
    this.client.destroy();
    this.server.destroy();
  }
}
