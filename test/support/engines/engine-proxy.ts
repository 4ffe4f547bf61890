import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * `pass`: everything. `mute`: what the engine says is thrown away, so that commands are done and not answered.
 * `stall`: nothing either way; connections stay open. `delay`: the same, but nothing is thrown away: it arrives when the
 * mode is another, even from a connection that its end gave up. `refuse`: connections end as soon as they are made.
 */
export type ProxyMode = 'pass' | 'mute' | 'stall' | 'delay' | 'refuse';

/** Stands between a store and its engine and breaks what is between them. */
export class EngineProxy {
  private current: ProxyMode = 'pass';
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

  get mode(): ProxyMode {
    return this.current;
  }

  set mode(mode: ProxyMode) {
    this.current = mode;
    for (const socket of this.sockets) {
      if (mode === 'delay') socket.pause();
      else socket.resume();
    }
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
    if (this.mode === 'delay') for (const socket of [client, engine]) socket.pause();
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
