import 'reflect-metadata';
import { type AddressInfo } from 'node:net';
import { type INestApplication } from '@nestjs/common';
import { SystemClock } from '../../src/common/system-clock.js';
import { HoldfastModule } from '../../src/holdfast.module.js';
import { LockManager } from '../../src/locking/lock-manager.js';
import { LoggingModule } from '../../src/logging/logging.module.js';
import { createServer } from '../../src/server.js';
import { MemoryStateStore } from '../../src/stores/memory/memory-state-store.js';
import { WrappedStore } from '../support/wrapped-store.js';
import { BadInputConnection, type RawAnswer } from './bad-input-connection.js';

class Root {}

/** The server in this process, so that a test sees every commit it makes. Nothing in it ends by itself. */
export class BadInputServer {
  readonly connection: BadInputConnection;
  readonly manager: LockManager;

  private constructor(
    readonly app: INestApplication,
    private readonly store: WrappedStore,
  ) {
    const { port } = app.getHttpServer().address() as AddressInfo;
    this.connection = new BadInputConnection(port);
    this.manager = app.get(LockManager);
  }

  static async start(): Promise<BadInputServer> {
    const store = new WrappedStore(new MemoryStateStore(new SystemClock()));
    const endless = { defaultLeaseMs: 0, claimTimeoutMs: 0, waiterTtlMs: 0, sessionTtlMs: 86_400_000 };
    const settings = { ...endless, logLevel: 'fatal' as const };
    const holdfast = HoldfastModule.forRoot({ settings, stateStore: store });
    const app = await createServer({ module: Root, imports: [holdfast, LoggingModule] });
    await app.listen(0, '127.0.0.1');
    return new BadInputServer(app, store);
  }

  /** The answer, and how many commits were made for it. */
  async send(request: Buffer): Promise<RawAnswer & { readonly commits: number }> {
    this.store.commits = [];
    const answer = await this.connection.exchange(request);
    return { ...answer, commits: this.store.commits.length };
  }

  async json(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return JSON.parse((await this.send(requestOf(method, path, text))).text) as Record<string, unknown>;
  }

  /** All that can be seen from outside, and the number of resources known inside. */
  async state(resources: readonly string[]): Promise<unknown[]> {
    const state: unknown[] = [await this.json('GET', '/locks'), this.manager.size];
    for (const id of resources) {
      state.push(await this.json('GET', `/refcounts?resource_id=${encodeURIComponent(id)}`));
    }
    return state;
  }

  async stop(): Promise<void> {
    this.connection.close();
    await this.app.close();
  }
}

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Without a content-length, in pieces. */
  readonly chunked?: boolean;
}

/** A request as it goes over the wire. Its framing is right, whatever else is wrong with it. */
export function requestOf(
  method: string,
  path: string,
  body?: string | Buffer,
  { headers = { 'content-type': 'application/json' }, chunked = false }: RequestOptions = {},
): Buffer {
  const bytes = body === undefined ? undefined : Buffer.from(body as string, 'utf8');
  const framing = chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(bytes?.length) };
  const all = { host: 'test', ...(bytes && { ...headers, ...framing }) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
  if (!bytes) return head;
  return Buffer.concat([head, chunked ? inChunks(bytes) : bytes]);
}

function inChunks(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 16_384) {
    const part = bytes.subarray(at, at + 16_384);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
