import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import { join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type GrpcCall } from '../../src/containerd/grpc/grpc-call.js';
import { type After, GrpcServer } from '../../src/containerd/grpc/grpc-server.js';
import { ReceiveBudget } from '../../src/containerd/grpc/receive-budget.js';
import { CODE, type RpcError } from '../../src/containerd/grpc/rpc-error.js';
import { headerBlock } from '../../src/containerd/http2/hpack/header-block.js';
import { FLAG, FRAME, H2_ERROR, PREFACE, SETTING } from '../../src/containerd/http2/protocol.js';
import { RawHttp2 } from '../support/containerd/raw-http2.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** The server alone, with clients that keep to the protocol and clients that do not. */

const MAX_MESSAGE_BYTES = 1 << 20;
/** More than one stream may send before it is listened to. */
const BUDGET_BYTES = 8 << 20;

let directory: string;
let path: string;
let server: GrpcServer;
/** Calls of `/hold`, which are answered by nobody. */
let held: GrpcCall[];
/** Deadlines that are waited for. */
let timers: Map<() => void, number>;
const after: After = (ms, task) => {
  timers.set(task, ms);
  return () => timers.delete(task);
};

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

beforeEach(async () => {
  directory = temporaryDirectory();
  path = join(directory, 'grpc.sock');
  held = [];
  timers = new Map();
  const methods = new Map([
    ['/echo', (call: GrpcCall) => void echo(call)],
    ['/flood', (call: GrpcCall) => void flood(call)],
    ['/hold', (call: GrpcCall) => void held.push(call)],
  ]);
  const budget = new ReceiveBudget(BUDGET_BYTES);
  server = new GrpcServer({ methods, maxMessageBytes: MAX_MESSAGE_BYTES, budget, after });
  await server.listen(path);
});
afterEach(() => {
  server.close();
  rmSync(directory, { recursive: true, force: true });
});

/** A connection that works still answers. */
async function expectToWork(client: RawHttp2, streamId = 101): Promise<void> {
  client.ask(streamId, '/echo', 'still there');
  expect(await client.status(streamId)).toBe(0);
  expect(client.body(streamId)).toEqual(RawHttp2.message('still there'));
}

describe('a call', () => {
  it('is answered: headers, messages, a status', async () => {
    const client = await RawHttp2.open(path);
    await expectToWork(client);
    client.ask(103, '/echo', '');
    expect(await client.status(103)).toBe(0);
    expect(client.body(103)).toEqual(RawHttp2.message(''));
  });

  it('may have its message in many small frames, with padding', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/echo');
    for (const byte of RawHttp2.message('in pieces'))
      client.send(FRAME.data, FLAG.padded, 1, Buffer.from([3, byte, 0, 0, 0]));
    client.send(FRAME.data, FLAG.endStream, 1);
    expect(await client.status(1)).toBe(0);
    expect(client.body(1)).toEqual(RawHttp2.message('in pieces'));
  });

  it('may have its headers in many frames, with padding and a priority', async () => {
    const client = await RawHttp2.open(path);
    const block = RawHttp2.callHeaders('/echo');
    const first = Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 16]), block.subarray(0, 5), Buffer.alloc(2)]);
    client.send(FRAME.headers, FLAG.padded | FLAG.priority, 1, first);
    for (const byte of block.subarray(5)) client.send(FRAME.continuation, 0, 1, Buffer.from([byte]));
    client.send(FRAME.continuation, FLAG.endHeaders, 1);
    client.send(FRAME.data, FLAG.endStream, 1, RawHttp2.message('x'));
    expect(await client.status(1)).toBe(0);
  });

  it('may end with trailers of the client', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/echo');
    client.send(FRAME.data, 0, 1, RawHttp2.message('x'));
    client.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 1, headerBlock([['a', 'b']]));
    expect(await client.status(1)).toBe(0);
  });

  it('of a method that is not there is UNIMPLEMENTED', async () => {
    const client = await RawHttp2.open(path);
    client.ask(1, '/häh', 'x');
    expect(await client.status(1)).toBe(CODE.unimplemented);
    await expectToWork(client);
  });

  it('is told in a way that any text survives', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/hold');
    await client.settled();
    held[0]!.finish({ code: CODE.notFound, details: 'größer als 100 %\n' });
    expect((await client.trailers(1)).get('grpc-message')).toBe('gr%C3%B6%C3%9Fer als 100 %25%0A');
  });

  it('of a kind that is none gets an HTTP status', async () => {
    const client = await RawHttp2.open(path);
    const get = headerBlock([
      [':method', 'GET'],
      [':path', '/echo'],
    ]);
    client.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 1, get);
    expect((await client.trailers(1)).get(':status')).toBe('405');
    const json = headerBlock([
      [':method', 'POST'],
      [':path', '/echo'],
      ['content-type', 'application/json'],
    ]);
    client.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 3, json);
    expect((await client.trailers(3)).get(':status')).toBe('415');
  });

  it('without the message it should have, or with half of it, is an error', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/flood');
    client.send(FRAME.data, FLAG.endStream, 1);
    expect(await client.status(1)).toBe(CODE.internal);
    client.call(3, '/echo');
    client.send(FRAME.data, FLAG.endStream, 3, RawHttp2.message('xyz').subarray(0, 6));
    expect(await client.status(3)).toBe(CODE.internal);
  });

  it('with a message that is too large is RESOURCE_EXHAUSTED before it has come, and the client told to stop', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/echo');
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(MAX_MESSAGE_BYTES + 1, 1);
    client.send(FRAME.data, 0, 1, prefix);
    expect(await client.status(1)).toBe(CODE.resourceExhausted);
    expect(await client.reset(1)).toBe(H2_ERROR.none);
    client.send(FRAME.data, 0, 1, Buffer.alloc(1000));
    await expectToWork(client);
  });

  it('with a compressed message is UNIMPLEMENTED', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/echo');
    client.send(FRAME.data, FLAG.endStream, 1, Buffer.from([1, 0, 0, 0, 0]));
    expect(await client.status(1)).toBe(CODE.unimplemented);
  });
});

describe('a deadline', () => {
  it('ends the call and aborts what is done for it', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/hold', [['grpc-timeout', '250m']]);
    await client.settled();
    const { signal } = held[0]!;
    expect([...timers.values()]).toEqual([250]);
    for (const task of timers.keys()) task();
    expect(await client.status(1)).toBe(CODE.deadlineExceeded);
    expect(signal.aborted).toBe(true);
    expect(timers.size).toBe(0);
  });

  it('is forgotten when the call is answered', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/echo', [['grpc-timeout', '1H']]);
    client.send(FRAME.data, FLAG.endStream, 1);
    expect(await client.status(1)).toBe(0);
    expect(timers.size).toBe(0);
  });

  it('that cannot be read is refused', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/hold', [['grpc-timeout', 'soon']]);
    expect(await client.status(1)).toBe(CODE.invalidArgument);
    expect(held).toEqual([]);
  });
});

describe('a client that leaves', () => {
  it('cancels one call, and no other', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/hold');
    client.call(3, '/hold');
    await client.settled();
    const signals = held.map(({ signal }) => signal);
    const waiting = held[0]!.next();
    client.number(FRAME.resetStream, 1, H2_ERROR.cancel);
    expect(await waiting).toBeUndefined();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    await held[0]!.send(Buffer.from('to nobody'));
    held[0]!.finish();
    await expectToWork(client);
    expect(client.frames.filter(({ streamId }) => streamId === 1)).toEqual([]);
  });

  it('in the middle of an answer is sent nothing more', async () => {
    const client = await RawHttp2.open(path);
    client.ask(1, '/flood', '300000');
    await client.until(({ type }) => type === FRAME.data);
    client.number(FRAME.resetStream, 1, H2_ERROR.cancel);
    await client.settled();
    const had = client.body(1).length;
    client.number(FRAME.windowUpdate, 0, 1_000_000);
    client.number(FRAME.windowUpdate, 1, 1_000_000);
    await expectToWork(client);
    expect(client.body(1)).toHaveLength(had);
  });

  it.each(['in the middle of a frame', 'in the middle of a header'])(
    'altogether, %s: its calls are cancelled',
    async (where) => {
      const client = await RawHttp2.open(path);
      client.call(1, '/hold');
      await client.settled();
      const waiting = held[0]!.next();
      const { signal } = held[0]!;
      const frame = RawHttp2.frame(FRAME.data, 0, 1, Buffer.alloc(1000));
      client.socket.write(frame.subarray(0, where.endsWith('frame') ? 500 : 4), () =>
        client.socket.destroy(),
      );
      expect(await waiting).toBeUndefined();
      expect(signal.aborted).toBe(true);
      await expectToWork(await RawHttp2.open(path));
    },
  );
});

describe('flow control', () => {
  it('no more is sent than the client takes, on a stream and on all together', async () => {
    const client = await RawHttp2.open(path, [SETTING.initialWindowSize, 100]);
    client.ask(1, '/flood', '100000');
    client.ask(3, '/flood', '100000');
    await client.settled();
    expect([client.body(1).length, client.body(3).length]).toEqual([100, 100]);
    client.number(FRAME.windowUpdate, 1, 1000);
    await client.settled();
    expect([client.body(1).length, client.body(3).length]).toEqual([1100, 100]);
    client.number(FRAME.windowUpdate, 1, 200_000);
    client.number(FRAME.windowUpdate, 3, 200_000);
    await client.settled();
    expect(client.body(1).length + client.body(3).length).toBe(65_535);
    client.number(FRAME.windowUpdate, 0, 1_000_000);
    expect(await client.status(1)).toBe(0);
    expect(await client.status(3)).toBe(0);
    expect(client.body(1)).toHaveLength(100_005);
    expect(client.body(3)).toHaveLength(100_005);
  });

  it('who waits for the connection is served in turns', async () => {
    const client = await RawHttp2.open(path, [SETTING.initialWindowSize, 1_000_000]);
    for (const streamId of [1, 3, 5]) client.ask(streamId, '/flood', '100000');
    await client.settled();
    for (let n = 0; n < 3; n++) client.number(FRAME.windowUpdate, 0, 1000);
    await client.settled();
    expect([1, 3, 5].map((id) => client.body(id).length)).toEqual([66_535, 1000, 1000]);
  });

  it('the client may change its mind about the size of windows', async () => {
    const client = await RawHttp2.open(path, [SETTING.initialWindowSize, 10]);
    client.ask(1, '/flood', '50');
    await client.settled();
    client.send(FRAME.settings, 0, 0, Buffer.from([0, SETTING.initialWindowSize, 0, 0, 0, 5]));
    client.number(FRAME.windowUpdate, 1, 5);
    await client.settled();
    expect(client.body(1)).toHaveLength(10);
    client.send(FRAME.settings, 0, 0, Buffer.from([0, SETTING.initialWindowSize, 0, 0, 0, 50]));
    expect(await client.status(1)).toBe(0);
  });

  it('who sends and is not listened to is stopped; who is listened to is not', async () => {
    const client = await RawHttp2.open(path);
    const isUpdate = (streamId: number) => (one: { type: number; streamId: number }) =>
      one.type === FRAME.windowUpdate && one.streamId === streamId;
    const message = RawHttp2.message('m'.repeat(15_000));
    client.call(1, '/hold');
    for (let sent = 0; sent < 4_100_000; sent += message.length) client.send(FRAME.data, 0, 1, message);
    await client.settled();
    expect(client.frames.some(isUpdate(1))).toBe(false);
    for (let n = 0; n < 300 && !client.frames.some(isUpdate(1)); n++) {
      await held[0]!.next();
      await client.settled();
    }
    expect(client.frames.some(isUpdate(1))).toBe(true);
  });

  it('who sends messages of no bytes, which no window counts, is stopped too', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/hold');
    const empty = Buffer.alloc(15_000); // three thousand of them
    for (let n = 0; n < 6; n++) client.send(FRAME.data, 0, 1, empty);
    expect(await client.status(1)).toBe(CODE.resourceExhausted);
    await expectToWork(client);
  });

  it('small messages that wait do not keep all that came with them', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/hold');
    client.send(
      FRAME.data,
      0,
      1,
      Buffer.concat([RawHttp2.message('small'), RawHttp2.message('x'.repeat(9000))]),
    );
    await client.settled();
    const small = (await held[0]!.next())!;
    expect(small.toString()).toBe('small');
    expect(small.buffer.byteLength).toBeLessThanOrEqual(Buffer.poolSize);
  });

  describe('many streams together, each within its window,', () => {
    const isAnswer = ({ type }: { type: number }) => type === FRAME.headers;
    const large = RawHttp2.message('m'.repeat(960_000));
    const framesOfLarge = Array.from({ length: 61 }, (_, n) => large.subarray(n * 16_000, (n + 1) * 16_000));

    /** These frames on each of the streams, which nobody listens to; how many of the streams were refused. */
    async function fill(client: RawHttp2, from: number, streams: number, frames: Buffer[]): Promise<number> {
      const ids = Array.from({ length: streams }, (_, n) => from + 2 * n);
      for (const id of ids) {
        client.call(id, '/hold');
        for (const frame of frames) client.send(FRAME.data, 0, id, frame);
        await client.settled();
      }
      const refused = ids.filter((id) => client.frames.some((one) => isAnswer(one) && one.streamId === id));
      for (const id of refused) expect(await client.status(id)).toBe(CODE.resourceExhausted);
      return refused.length;
    }

    it.each([
      { what: 'messages that wait', frames: Array<Buffer>(40).fill(RawHttp2.message('m'.repeat(16_000))) },
      { what: 'messages that are never complete', frames: framesOfLarge.slice(0, 40) },
      { what: 'empty messages', frames: Array<Buffer>(2).fill(Buffer.alloc(12_500)) },
    ])('are refused beyond what all may keep: $what', async ({ frames }) => {
      const [one, other] = [await RawHttp2.open(path), await RawHttp2.open(path)];
      expect(await fill(one, 1, 6, frames)).toBe(0);
      expect(await fill(other, 1, 20, frames)).toBeGreaterThan(5);
      one.socket.destroy();
      other.socket.destroy();
      await once(one.socket, 'close');
      const next = await RawHttp2.open(path);
      await expectToWork(next);
      expect(await fill(next, 201, 6, frames)).toBe(0);
    });

    it('what is being handled counts until it is done, also when its call is cut', async () => {
      const client = await RawHttp2.open(path);
      const cut = async (streamId: number) => {
        client.call(streamId, '/hold');
        for (const frame of framesOfLarge) client.send(FRAME.data, 0, streamId, frame);
        await client.settled();
        void held.at(-1)!.next();
        client.number(FRAME.resetStream, streamId, H2_ERROR.cancel);
        await client.settled();
      };
      for (let id = 1; id < 17; id += 2) await cut(id);
      expect(await fill(client, 101, 1, framesOfLarge)).toBe(1);
      for (const call of held) call.finish();
      expect(await fill(client, 201, 6, framesOfLarge)).toBe(0);
    });
  });

  it('a client may send for ever', async () => {
    const client = await RawHttp2.open(path);
    const allowed = (streamId: number) =>
      client.frames
        .filter((one) => one.type === FRAME.windowUpdate && one.streamId === streamId)
        .reduce((sum, { payload }) => sum + payload.readUInt32BE(), 0);
    const frame = RawHttp2.frame(FRAME.data, 0, 1, RawHttp2.message('m'.repeat(16_000)));
    client.call(1, '/hold');
    let sent = 0;
    for (; sent < 40_000_000; sent += 16_005) {
      client.socket.write(frame);
      if (sent % 2_000_000 < 16_005) await client.settled();
      void held[0]?.next();
    }
    await client.settled();
    expect(allowed(0) + 65_535).toBeGreaterThan(sent);
    expect(allowed(1) + (4 << 20)).toBeGreaterThan(sent);
  });

  it('who sends more than it may is cut off', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/hold');
    const frame = RawHttp2.frame(FRAME.data, 0, 1, RawHttp2.message('m'.repeat(16_000)));
    for (let sent = 0; sent < (4 << 20) + 16_005; sent += 16_005) client.socket.write(frame);
    expect(await client.reset(1)).toBe(H2_ERROR.flowControl);
    await expectToWork(client);
  });
});

describe('a peer that breaks the protocol gets a GOAWAY and is cut', () => {
  it('who does not speak HTTP/2', async () => {
    const client = await RawHttp2.connect(path);
    client.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await client.goAway()).toBe(H2_ERROR.protocol);
  });

  it('who does not begin with SETTINGS', async () => {
    const client = await RawHttp2.connect(path);
    client.socket.write(PREFACE);
    client.send(FRAME.ping, 0, 0, Buffer.alloc(8));
    expect(await client.goAway()).toBe(H2_ERROR.protocol);
  });

  const { protocol, frameSize, flowControl, compression, enhanceYourCalm } = H2_ERROR;
  const block = RawHttp2.callHeaders('/echo');
  it.each<[string, number, (client: RawHttp2) => void]>([
    ['a frame that is too long', frameSize, (one) => one.send(FRAME.data, 0, 1, Buffer.alloc(16_385))],
    ['data on a stream never opened', protocol, (one) => one.send(FRAME.data, 0, 1, Buffer.alloc(1))],
    ['data on no stream', protocol, (one) => one.send(FRAME.data, 0, 0, Buffer.alloc(1))],
    ['headers on no stream', protocol, (one) => one.send(FRAME.headers, FLAG.endHeaders, 0, block)],
    ['an even stream', protocol, (one) => one.send(FRAME.headers, FLAG.endHeaders, 2, block)],
    ['a continuation of nothing', protocol, (one) => one.send(FRAME.continuation, FLAG.endHeaders, 1, block)],
    [
      'a header block that is interrupted',
      protocol,
      (one) => {
        one.send(FRAME.headers, 0, 1, block);
        one.send(FRAME.ping, 0, 0, Buffer.alloc(8));
      },
    ],
    [
      'a header block that goes on elsewhere',
      protocol,
      (one) => {
        one.send(FRAME.headers, 0, 1, block);
        one.send(FRAME.continuation, FLAG.endHeaders, 3, block);
      },
    ],
    [
      'a header block without end',
      enhanceYourCalm,
      (one) => {
        one.send(FRAME.headers, 0, 1, block);
        for (let n = 0; n < 8000; n++) one.send(FRAME.continuation, 0, 1);
      },
    ],
    [
      'headers that cannot be read',
      compression,
      (one) => one.send(FRAME.headers, FLAG.endHeaders, 1, Buffer.from([0xff])),
    ],
    [
      'more padding than payload',
      protocol,
      (one) => one.send(FRAME.headers, FLAG.endHeaders | FLAG.padded, 1, Buffer.from([9, 1])),
    ],
    ['a push', protocol, (one) => one.send(FRAME.pushPromise, FLAG.endHeaders, 1, block)],
    ['settings of a stream', protocol, (one) => one.send(FRAME.settings, 0, 1)],
    ['settings that are cut off', frameSize, (one) => one.send(FRAME.settings, 0, 0, Buffer.alloc(5))],
    [
      'an answer to settings that says something',
      frameSize,
      (one) => one.send(FRAME.settings, FLAG.ack, 0, Buffer.alloc(6)),
    ],
    [
      'a window of 4 GB',
      flowControl,
      (one) => one.send(FRAME.settings, 0, 0, Buffer.from([0, 4, 255, 255, 255, 255])),
    ],
    ['a ping of a stream', protocol, (one) => one.send(FRAME.ping, 0, 1, Buffer.alloc(8))],
    ['a ping that is too short', frameSize, (one) => one.send(FRAME.ping, 0, 0, Buffer.alloc(7))],
    ['a reset that is too short', frameSize, (one) => one.send(FRAME.resetStream, 0, 1, Buffer.alloc(3))],
    ['a reset of a stream never opened', protocol, (one) => one.number(FRAME.resetStream, 1, 8)],
    [
      'a window update that is too short',
      frameSize,
      (one) => one.send(FRAME.windowUpdate, 0, 0, Buffer.alloc(3)),
    ],
    ['a window update by nothing', protocol, (one) => one.number(FRAME.windowUpdate, 0, 0)],
    ['a window that overflows', flowControl, (one) => one.number(FRAME.windowUpdate, 0, 2 ** 31 - 1)],
  ])('%s', async (_, code, misbehave) => {
    const client = await RawHttp2.open(path);
    misbehave(client);
    expect(await client.goAway()).toBe(code);
    await expectToWork(await RawHttp2.open(path));
  });

  it('any bytes after the greeting: the server goes on', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const client = await RawHttp2.open(path);
      client.call(1, '/hold');
      const noise = Buffer.from(
        Array.from({ length: 2000 }, (_, n) => ((n + 7) * seed * 2_654_435_761) >>> 11),
      );
      client.socket.write(noise, () => client.socket.destroy());
      await client.untilClosed();
    }
    await expectToWork(await RawHttp2.open(path));
  });
});

describe('a stream that breaks the protocol is reset, and no other', () => {
  const { streamClosed, protocol, enhanceYourCalm, flowControl } = H2_ERROR;
  it.each<[string, number, (client: RawHttp2) => void]>([
    [
      'data after the end',
      streamClosed,
      (one) => {
        one.send(FRAME.data, FLAG.endStream, 1);
        one.send(FRAME.data, 0, 1, Buffer.alloc(1));
      },
    ],
    ['headers in the middle', protocol, (one) => one.call(1, '/hold')],
    ['a window update by nothing', protocol, (one) => one.number(FRAME.windowUpdate, 1, 0)],
    ['a window that overflows', flowControl, (one) => one.number(FRAME.windowUpdate, 1, 2 ** 31 - 1)],
  ])('%s', async (_, code, misbehave) => {
    const client = await RawHttp2.open(path);
    client.call(1, '/hold');
    misbehave(client);
    expect(await client.reset(1)).toBe(code);
    await expectToWork(client);
  });

  it('too many headers', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/echo', [['x', 'y'.repeat(16_000)]]);
    client.send(FRAME.data, FLAG.endStream, 1);
    expect(await client.status(1)).toBe(0);
    const block = RawHttp2.callHeaders('/echo', [['x', 'y'.repeat(17_000)]]);
    client.send(FRAME.headers, 0, 3, block.subarray(0, 16_000));
    client.send(FRAME.continuation, FLAG.endHeaders, 3, block.subarray(16_000));
    expect(await client.reset(3)).toBe(enhanceYourCalm);
    await expectToWork(client);
  });
});

describe('the connection', () => {
  it('has room for ten thousand calls that wait; more are refused without harm', async () => {
    const client = await RawHttp2.open(path);
    for (let n = 0; n < 10_001; n++) client.call(2 * n + 1, '/hold');
    expect(await client.reset(20_001)).toBe(H2_ERROR.refusedStream);
    expect(held).toHaveLength(10_000);
    held[5]!.finish();
    await expectToWork(client, 20_003);
  });

  it('answers pings at once, and ignores what it does not know', async () => {
    const client = await RawHttp2.open(path);
    client.send(FRAME.priority, 0, 7, Buffer.alloc(5));
    client.send(0xee, 0xff, 9, Buffer.alloc(100));
    client.send(FRAME.goAway, 0, 0, Buffer.alloc(8));
    client.send(FRAME.ping, FLAG.ack, 0, Buffer.alloc(8));
    await client.settled();
    expect(client.frames.filter(({ type }) => type === FRAME.ping)).toHaveLength(1);
  });

  it('ends with the server: calls are cancelled, the client told, the socket gone', async () => {
    const client = await RawHttp2.open(path);
    client.call(1, '/hold');
    await client.settled();
    const { signal } = held[0]!;
    server.close();
    expect(await client.goAway()).toBe(H2_ERROR.none);
    expect(signal.aborted).toBe(true);
    expect(existsSync(path)).toBe(false);
  });

  it('a peer that asks and takes no answers is not read from for ever', async () => {
    const client = await RawHttp2.open(path);
    await client.settled();
    client.socket.pause();
    const pings = Buffer.concat(
      Array.from({ length: 10_000 }, () => RawHttp2.frame(FRAME.ping, 0, 0, Buffer.alloc(8))),
    );
    let taken = 0;
    for (let n = 0; n < 100; n++) client.socket.write(pings, () => taken++);
    const other = await RawHttp2.open(path);
    for (let n = 0; n < 500; n++) await other.settled();
    expect(taken).toBeLessThan(50);
    client.socket.resume();
    await expectToWork(client);
  });
});

describe('a client of the library', () => {
  const identity = (message: Buffer) => message;
  const call = (client: grpc.Client, method: string, message: Buffer, options: grpc.CallOptions = {}) =>
    new Promise<Buffer>((resolve, reject) =>
      client.makeUnaryRequest(method, identity, identity, message, options, (error, answer) =>
        error ? reject(error) : resolve(answer!),
      ),
    );
  let client: grpc.Client;
  beforeEach(() => {
    client = new grpc.Client(`unix:${path}`, grpc.credentials.createInsecure());
  });
  afterEach(() => client.close());

  it('may have many calls at once, small and large', async () => {
    const sizes = Array.from({ length: 300 }, (_, n) => (n % 10 === 0 ? 200_000 : n));
    const answers = await Promise.all(sizes.map((size) => call(client, '/echo', Buffer.alloc(size, size))));
    expect(answers.map(({ length }) => length)).toEqual(sizes);
    expect(answers.every((answer, n) => answer.equals(Buffer.alloc(sizes[n]!, sizes[n]!)))).toBe(true);
  });

  it('may send any characters as headers', async () => {
    const printable = String.fromCharCode(...Array.from({ length: 95 }, (_, n) => n + 32)).trim();
    const metadata = new grpc.Metadata();
    metadata.set('everything', printable);
    const answer = new Promise((resolve, reject) =>
      client.makeUnaryRequest('/echo', identity, identity, Buffer.from('x'), metadata, (error, value) =>
        error ? reject(error) : resolve(value),
      ),
    );
    expect(await answer).toEqual(Buffer.from('x'));
  });

  it.each([0, 1000, 4096, 65_536])('may have a table of %i bytes for headers', async (headerTableSize) => {
    const session = http2.connect('http://localhost', {
      createConnection: () => net.connect(path),
      settings: { headerTableSize },
    });
    for (let n = 0; n < 3; n++) {
      const call = session.request({
        ':method': 'POST',
        ':path': '/echo',
        'content-type': 'application/grpc',
      });
      call.end(RawHttp2.message('hello'));
      call.resume();
      const [trailers] = (await once(call, 'trailers')) as [http2.IncomingHttpHeaders];
      expect(trailers['grpc-status']).toBe('0');
    }
    session.destroy();
  });

  it('learns of messages that are too large, and of methods that are not there', async () => {
    const large = call(client, '/echo', Buffer.alloc(MAX_MESSAGE_BYTES + 1));
    await expect(large).rejects.toMatchObject({ code: grpc.status.RESOURCE_EXHAUSTED });
    await expect(call(client, '/none', Buffer.alloc(1))).rejects.toMatchObject({
      code: grpc.status.UNIMPLEMENTED,
      details: 'There is no method /none.',
    });
  });

  it('takes an answer of many megabytes', async () => {
    const size = 3_500_000;
    expect((await call(client, '/flood', Buffer.from(String(size)))).equals(Buffer.alloc(size, 'z'))).toBe(
      true,
    );
  });
});
