import 'reflect-metadata';
import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type INestApplication, Injectable, type Provider } from '@nestjs/common';
import { ConfigModule } from '@nestjs/config';
import { Test } from '@nestjs/testing';
import { afterEach } from 'vitest';
import { CLOCK } from '../../src/common/clock.interface.js';
import { type Settings } from '../../src/config/settings.js';
import { HoldfastModule } from '../../src/holdfast.module.js';
import { LoggingModule } from '../../src/logging/logging.module.js';
import { LogLines } from '../../src/logging/log-lines.js';
import { type RefCountStorage } from '../../src/refcount/ref-count-storage.interface.js';
import { prepareServer } from '../../src/server.js';
import { ServerAdapter } from '../../src/server-adapter.js';
import { type StateStore } from '../../src/stores/state-store.interface.js';
import { SseReader } from './server-sse.js';
import { CollectedLog } from './collected-log.js';
import { SimulatedClock } from './simulated-clock.js';

// oxlint-disable-next-line typescript/no-explicit-any -- what a server answers is what the test is about
export type Json = any;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Json;
}

export interface CallOptions {
  readonly headers?: Record<string, string>;
  readonly agent?: Agent;
}

/** A request that has been sent and may never be answered. */
export interface Pending extends Promise<Answer> {
  /** Breaks the connection. */
  abort(): void;
}

/** No promise itself: whoever awaits it wants it to wait. */
export interface WaitingPoll {
  readonly answer: Pending;
}

/**
 * The real server in this process, to be asked over real sockets:
 *
 *     const server = await TestServer.with({ waiterTtlMs: 1000 }).onSimulatedTime().start();
 *
 * In memory, on a free port, silent; closed after the test.
 */
export class TestServer {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly readers: SseReader[] = [];

  private constructor(
    readonly app: INestApplication,
    readonly port: number,
    readonly clock: SimulatedClock,
    private readonly collected: CollectedLog,
  ) {}

  static with(settings: Partial<Settings> = {}): ServerBuilder {
    return new ServerBuilder(settings);
  }

  static start(settings: Partial<Settings> = {}): Promise<TestServer> {
    return TestServer.with(settings).start();
  }

  /** For the builder. */
  static around(
    app: INestApplication,
    port: number,
    clock: SimulatedClock,
    collected: CollectedLog,
  ): TestServer {
    const server = new TestServer(app, port, clock, collected);
    running.add(server);
    return server;
  }

  /** What was logged, line by line. */
  get log(): readonly Json[] {
    return this.collected.read().map((line) => JSON.parse(line) as Json);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get(path: string, options?: CallOptions): Pending {
    return this.call('GET', path, undefined, options);
  }

  post(path: string, body: object | string, options?: CallOptions): Pending {
    return this.call('POST', path, body, options);
  }

  call(method: string, path: string, body?: object | string, options: CallOptions = {}): Pending {
    const text = typeof body === 'object' ? JSON.stringify(body) : body;
    const headers = { ...(text !== undefined && { 'content-type': 'application/json' }), ...options.headers };
    const agent = options.agent ?? this.agent;
    const sent = request({ host: '127.0.0.1', port: this.port, method, path, headers, agent });
    const answered = new Promise<Answer>((resolve, reject) => {
      sent.on('error', reject).on('response', (response) => {
        let received = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
        response.on('error', reject).on('end', () => {
          const { statusCode: status = 0, headers } = response;
          const isJson = headers['content-type']?.includes('json') ?? false;
          resolve({ status, headers, text: received, body: isJson ? JSON.parse(received) : undefined });
        });
      });
    });
    sent.end(text);
    return Object.assign(answered, { abort: () => void sent.destroy() });
  }

  /** `POST /lock`: a pull of `layer` by `n1` unless said otherwise. */
  lock(request: object = {}): Pending {
    return this.post('/lock', { ...KEY, ...request });
  }

  unlock(request: object = {}): Pending {
    return this.post('/unlock', { ...KEY, ...request });
  }

  status(query: Record<string, string> = {}): Pending {
    return this.get(`/lock/status?${new URLSearchParams({ ...NAME, ...query })}`);
  }

  async session(nodeId: string, ttlMs?: number): Promise<string> {
    const { body } = await this.post('/sessions', { node_id: nodeId, ttl_ms: ttlMs });
    return body.session_id;
  }

  /** Follows `GET /lock/subscribe`, of the same key as `lock`; answered headers are in. */
  subscribe(query: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<SseReader> {
    return this.stream(`/lock/subscribe?${new URLSearchParams({ ...NAME, ...query })}`, headers);
  }

  async stream(path: string, headers: Record<string, string> = {}): Promise<SseReader> {
    const reader = await SseReader.open(this.port, path, headers);
    this.readers.push(reader);
    return reader;
  }

  /** A connection on which a test writes whatever bytes it likes. */
  async connect(): Promise<Socket> {
    const socket = connect(this.port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  }

  /** A long poll that is known to be waiting: the `count`-th of the server. */
  async longPoll(request: object = {}, count = 1): Promise<WaitingPoll> {
    const answer = this.lock({ wait_ms: 60_000, ...request });
    answer.catch(() => undefined);
    await this.untilGauge('holdfast_long_polls', count);
    return { answer };
  }

  async metric(series: string): Promise<number> {
    const { text } = await this.get('/metrics');
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1) ?? NaN);
  }

  untilGauge(series: string, value: number): Promise<void> {
    return until(async () => (await this.metric(series)) === value);
  }

  async close(): Promise<void> {
    running.delete(this);
    for (const reader of this.readers) reader.close();
    this.agent.destroy();
    await this.app.close();
  }
}

const NAME = { type: 'pull', resource_id: 'layer' };
const KEY = { ...NAME, node_id: 'n1' };

const running = new Set<TestServer>();

afterEach(async () => {
  await Promise.all([...running].map((server) => server.close()));
});

class ServerBuilder {
  private clock: SimulatedClock | undefined;
  private stateStore: StateStore | undefined;
  private refCountStorage: RefCountStorage | undefined;
  private readonly providers: Provider[] = [];

  constructor(private readonly settings: Partial<Settings>) {}

  /** Time stands still until `server.clock.advance`. */
  onSimulatedTime(clock = new SimulatedClock()): this {
    this.clock = clock;
    return this;
  }

  over(stateStore: StateStore): this {
    this.stateStore = stateStore;
    return this;
  }

  counting(refCountStorage: RefCountStorage): this {
    this.refCountStorage = refCountStorage;
    return this;
  }

  /** A provider of the root module, whose hooks run before all others at a shutdown. */
  plus(provider: Provider): this {
    this.providers.push(provider);
    return this;
  }

  async start(): Promise<TestServer> {
    const { stateStore, refCountStorage, clock } = this;
    const settings = { storeUrl: 'memory:', logLevel: 'debug', ...this.settings } as const;
    const collected = new CollectedLog();
    const building = Test.createTestingModule({
      imports: [
        ConfigModule.forRoot({ ignoreEnvFile: true, ignoreEnvVars: true }),
        HoldfastModule.forRoot({ settings, stateStore, refCountStorage }),
        LoggingModule,
      ],
      providers: [Anything, ...this.providers],
    })
      .overrideProvider(LogLines)
      .useValue(collected.lines);
    if (clock) building.overrideProvider(CLOCK).useValue(clock);
    const module = await building.compile();
    const app = prepareServer(module.createNestApplication(new ServerAdapter(), { bufferLogs: true }));
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    return TestServer.around(app, port, clock ?? new SimulatedClock(), collected);
  }
}

/** A testing module without providers of its own would have no hooks to run. */
@Injectable()
class Anything {}

/** Looks again and again, for what no event tells. */
export async function until(condition: () => boolean | Promise<boolean>, withinMs = 5000): Promise<void> {
  const end = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`It did not come to pass: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
