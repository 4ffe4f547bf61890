import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * `pass`: everything. `mute`: what the engine says is thrown away, so that commands are done and not answered.
 * `stall`: nothing either way; connections stay open. `refuse`: connections end as soon as they are made.
 */
export type ProxyMode = 'pass' | 'mute' | 'stall' | 'refuse';

/** Stands between a store and its engine and breaks what is between them. */
export class EngineProxy {
  mode: ProxyMode = 'pass';
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly port: number,
    private readonly target: number,
  ) {
    server.on('connection', (socket) => this.accept(socket));
  }

  static async start(target: number): Promise<EngineProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new EngineProxy(server, (server.address() as AddressInfo).port, target);
  }

  /** Whether anybody is connected. */
  get isUsed(): boolean {
    return this.sockets.size > 0;
  }

  /** Breaks every connection there is. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  private accept(client: Socket): void {
    if (this.mode === 'refuse') return void client.destroy();
    const engine = connect(this.target, '127.0.0.1');
    client.on('data', (data) => {
      if (this.mode !== 'stall') engine.write(data);
    });
    engine.on('data', (data) => {
      if (this.mode === 'pass') client.write(data);
    });
    this.join(client, engine);
    this.join(engine, client);
  }

  private join(socket: Socket, other: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.sockets.delete(socket);
      other.destroy();
    });
  }
}
