import 'reflect-metadata';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type INestApplication, type NestApplicationOptions, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { type Express } from 'express';
import { FastExpressAdapter } from '../../src/common/express/fast-express.adapter.js';

export interface Server {
  readonly url: string;
  readonly port: number;
  close(): Promise<unknown>;
}

/** Express alone on our adapter, without Nest's routing. */
export async function serveExpress(adapter: ExpressAdapter, build: (app: Express) => void): Promise<Server> {
  adapter.initHttpServer({});
  adapter.registerParserMiddleware();
  build(adapter.getInstance<Express>());
  adapter.listen(0, '127.0.0.1');
  const server = adapter.getHttpServer();
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await adapter.close();
  };
  return { url: `http://127.0.0.1:${port}`, port, close };
}

/** A Nest application; on our adapter unless another is given. */
export async function serveNest(
  module: Type,
  configure: (app: INestApplication) => void = () => {},
  options: NestApplicationOptions & { adapter?: ExpressAdapter } = {},
): Promise<Server & { readonly app: INestApplication }> {
  const { adapter = new FastExpressAdapter(), ...rest } = options;
  const app = await NestFactory.create(module, adapter, {
    logger: false,
    forceCloseConnections: true,
    ...rest,
  });
  configure(app);
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  return { app, url: `http://127.0.0.1:${port}`, port, close: () => app.close() };
}

/** A connection on which a test writes whatever bytes it likes. */
export class RawConnection {
  /** All that has come. */
  text = '';
  readonly closed: Promise<unknown>;

  private constructor(readonly socket: Socket) {
    socket.setEncoding('latin1').on('data', (chunk) => (this.text += chunk.toString()));
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => socket.once('close', resolve));
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  send(bytes: string | Buffer): this {
    this.socket.write(bytes);
    return this;
  }

  /** What has come, once it contains this. */
  async until(expected: string | RegExp): Promise<string> {
    while (this.text.search(expected) < 0) {
      await Promise.race([once(this.socket, 'data'), this.closed]);
      if (this.socket.destroyed && this.text.search(expected) < 0) {
        throw new Error(`The connection ended with ${JSON.stringify(this.text)}`);
      }
    }
    return this.text;
  }

  /** Everything, once the server has closed. */
  async toEnd(): Promise<string> {
    await this.closed;
    return this.text;
  }
}
