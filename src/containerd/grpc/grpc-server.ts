import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { Http2Connection } from '../http2/http2-connection.js';
import { type Http2Stream } from '../http2/http2-stream.js';
import { httpStatus } from './answer-headers.js';
import { type CallLimits, GrpcCall } from './grpc-call.js';
import { MessageMemory } from './message-memory.js';
import { ReadMemory } from './read-memory.js';
import { ReceiveBudget } from './receive-budget.js';
import { CODE, RpcError } from './rpc-error.js';
import { timeoutMs } from './timeout.js';

/** Answers one call, and finishes it in any case. */
export type Handler = (call: GrpcCall) => void;

/** Runs the task later, unless what it returned is called. */
export type After = (ms: number, task: () => void) => () => void;

export interface GrpcServerOptions {
  /** By path: `/package.Service/Method`. */
  readonly methods: ReadonlyMap<string, Handler>;
  readonly maxMessageBytes: number;
  readonly budget?: ReceiveBudget;
  readonly after?: After;
}

/** No timer waits longer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const realAfter: After = (ms, task) => {
  const timer = setTimeout(task, Math.min(ms, MAX_TIMER_MS));
  return () => clearTimeout(timer);
};

/** A gRPC server on a unix socket: no TLS, no compression, no reflection. Calls may be of any kind. */
export class GrpcServer {
  private readonly server: Server;
  private readonly limits: CallLimits;
  private readonly readMemory = new ReadMemory();
  private readonly connections = new Set<Http2Connection>();

  constructor(private readonly options: GrpcServerOptions) {
    const { maxMessageBytes, budget = new ReceiveBudget() } = options;
    this.limits = { maxMessageBytes, memory: new MessageMemory(), budget };
    this.server = createServer((socket) => this.connected(socket));
  }

  async listen(path: string): Promise<void> {
    this.server.listen(path);
    await once(this.server, 'listening');
    this.server.on('error', () => undefined); // one client that could not be accepted
  }

  /** Cuts what is under way and removes the socket. */
  close(): void {
    this.server.close();
    for (const connection of [...this.connections]) connection.close();
  }

  private connected(socket: Socket): void {
    socket.on('data', ({ length }: Buffer) => this.readMemory.received(length));
    const connection = new Http2Connection(socket, {
      opened: (stream, headers) => this.opened(stream, headers),
    });
    this.connections.add(connection);
    socket.once('close', () => this.connections.delete(connection));
  }

  private opened(stream: Http2Stream, headers: ReadonlyMap<string, string>): void {
    if (headers.get(':method') !== 'POST') return stream.end(httpStatus(405, 'gRPC calls are POST.'));
    if (!headers.get('content-type')?.startsWith('application/grpc'))
      return stream.end(httpStatus(415, 'gRPC calls have the content-type application/grpc.'));
    let cancelTimer: (() => void) | undefined;
    const call = new GrpcCall(stream, this.limits, () => cancelTimer?.());
    stream.listener = call;
    const path = headers.get(':path') ?? '';
    const handler = this.options.methods.get(path);
    if (!handler) return call.finish(new RpcError(CODE.unimplemented, `There is no method ${path}.`));
    const timeout = headers.get('grpc-timeout');
    try {
      if (timeout !== undefined) cancelTimer = this.endAfter(call, timeoutMs(timeout));
    } catch (error) {
      return call.finish(error as RpcError);
    }
    handler(call);
  }

  private endAfter(call: GrpcCall, ms: number): () => void {
    const after = this.options.after ?? realAfter;
    return after(ms, () =>
      call.finish(new RpcError(CODE.deadlineExceeded, 'The deadline of the call is over.')),
    );
  }
}
