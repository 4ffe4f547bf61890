import { describe, expect, it } from 'vitest';
import { GrpcCall } from '../grpc/grpc-call.js';
import { MessageMemory } from '../grpc/message-memory.js';
import { ReceiveBudget } from '../grpc/receive-budget.js';
import { type Http2Stream } from '../http2/http2-stream.js';
import { bidirectional, streaming, type WriteCall } from './calls.js';
import { timestamp, type WriteRequest } from './messages.js';
import { ProtoWriter } from './proto-writer.js';

const quietStream = {
  headers: () => undefined,
  write: () => undefined,
  end: () => undefined,
  take: () => undefined,
} as unknown as Http2Stream;

const open = () =>
  new GrpcCall(
    quietStream,
    { maxMessageBytes: 1 << 20, memory: new MessageMemory(), budget: new ReceiveBudget() },
    () => undefined,
  );

/** A WRITE of so many bytes, as it is sent. */
function writeOf(byte: number, length = 100_000): Buffer {
  const message = new ProtoWriter().int64(1, 1).bytesHead(6, length).finish();
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length + length, 1);
  return Buffer.concat([prefix, message, Buffer.alloc(length, byte)]);
}

function sendInPieces(call: GrpcCall, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; at += 16_384) call.data(bytes.subarray(at, at + 16_384));
}

class SlowWrite implements WriteCall {
  readonly requests: WriteRequest[] = [];
  isClosed = false;
  private readonly waiting: (() => void)[] = [];

  async answer(request: WriteRequest) {
    this.requests.push(request);
    await new Promise<void>((resolve) => this.waiting.push(resolve));
    const [started_at, updated_at] = [timestamp(0), timestamp(0)];
    return { action: 1, started_at, updated_at, offset: 0, total: 0, digest: '' };
  }

  async close() {
    this.isClosed = true;
  }

  async answered(): Promise<void> {
    this.waiting.shift()!();
    await settled();
  }
}

const settled = async () => {
  for (let n = 0; n < 20; n++) await undefined;
};

describe('a write', () => {
  it('keeps the bytes of a message until it is answered, whatever comes after it', async () => {
    const [call, write] = [open(), new SlowWrite()];
    bidirectional(() => write)(call);
    for (const byte of [1, 2]) sendInPieces(call, writeOf(byte));
    await settled();
    expect(write.requests[0]!.data.every((byte) => byte === 1)).toBe(true);
    await write.answered();
    sendInPieces(call, writeOf(3));
    await settled();
    expect(write.requests).toHaveLength(2);
    expect(write.requests[1]!.data.every((byte) => byte === 2)).toBe(true);
  });

  it('is closed at once by a client that ends while nothing is under way', async () => {
    for (const leave of ['ended', 'cut'] as const) {
      const [call, write] = [open(), new SlowWrite()];
      bidirectional(() => write)(call);
      await settled();
      call[leave]();
      expect(write.isClosed).toBe(true);
    }
  });

  it('is closed after the answer that is under way', async () => {
    for (const leave of ['ended', 'cut'] as const) {
      const [call, write] = [open(), new SlowWrite()];
      bidirectional(() => write)(call);
      sendInPieces(call, writeOf(1));
      await settled();
      call[leave]();
      await settled();
      expect(write.isClosed).toBe(false);
      await write.answered();
      expect(write.isClosed).toBe(true);
    }
  });
});

describe('an answer of many messages', () => {
  it('is not looked for any further once the client has left', async () => {
    const call = open();
    let asked = 0;
    const answers = async function* () {
      for (;;) yield ++asked;
    };
    const answer = (n: number) => {
      if (n === 2) queueMicrotask(() => call.cut()); // while it is on its way
      return [];
    };
    streaming({ request: () => ({}), answer }, answers)(call);
    call.data(Buffer.alloc(5));
    await settled();
    expect(asked).toBe(2);
  });
});
