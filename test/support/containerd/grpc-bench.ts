import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type GrpcCall } from '../../../src/containerd/grpc/grpc-call.js';
import { GrpcServer } from '../../../src/containerd/grpc/grpc-server.js';
import { ReceiveBudget } from '../../../src/containerd/grpc/receive-budget.js';
import { type RpcError } from '../../../src/containerd/grpc/rpc-error.js';
import { temporaryDirectory } from '../temporary-directory.js';
import { RawHttp2 } from './raw-http2.js';

export const MAX_MESSAGE_BYTES = 1 << 20;

/** More than one stream may send before it is listened to. */
const BUDGET_BYTES = 8 << 20;

/** The gRPC server alone, without containerd's service. */
export class GrpcBench {
  readonly path: string;
  readonly server: GrpcServer;
  /** Calls of `/hold`, which are answered by nobody. */
  readonly held: GrpcCall[] = [];
  /** Deadlines that are waited for. */
  readonly timers = new Map<() => void, number>();

  private constructor(private readonly directory: string) {
    this.path = join(directory, 'grpc.sock');
    const methods = new Map([
      ['/echo', (call: GrpcCall) => void echo(call)],
      ['/flood', (call: GrpcCall) => void flood(call)],
      ['/hold', (call: GrpcCall) => void this.held.push(call)],
    ]);
    const after = (ms: number, task: () => void) => {
      this.timers.set(task, ms);
      return () => this.timers.delete(task);
    };
    const budget = new ReceiveBudget(BUDGET_BYTES);
    this.server = new GrpcServer({ methods, maxMessageBytes: MAX_MESSAGE_BYTES, budget, after });
  }

  static async start(): Promise<GrpcBench> {
    const bench = new GrpcBench(temporaryDirectory());
    await bench.server.listen(bench.path);
    return bench;
  }

  close(): void {
    this.server.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

async function echo(call: GrpcCall): Promise<void> {
  for (let message = await call.next(); message; message = await call.next()) await call.send(message);
  call.finish();
}

/** As many bytes as it is asked for. */
async function flood(call: GrpcCall): Promise<void> {
  try {
    const size = Number((await call.only()).toString());
    await call.send(Buffer.alloc(size, 'z'));
    call.finish();
  } catch (error) {
    call.finish(error as RpcError);
  }
}

/** A connection that works still answers. */
export async function expectToWork(client: RawHttp2, streamId = 101): Promise<void> {
  client.ask(streamId, '/echo', 'still there');
  expect(await client.status(streamId)).toBe(0);
  expect(client.body(streamId)).toEqual(RawHttp2.message('still there'));
}
