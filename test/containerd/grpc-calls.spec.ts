import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CODE } from '../../src/containerd/grpc/rpc-error.js';
import { headerBlock } from '../../src/containerd/http2/hpack/header-block.js';
import { FLAG, FRAME, H2_ERROR } from '../../src/containerd/http2/protocol.js';
import { expectToWork, GrpcBench, MAX_MESSAGE_BYTES } from '../support/containerd/grpc-bench.js';
import { RawHttp2 } from '../support/containerd/raw-http2.js';

let bench: GrpcBench;
beforeEach(async () => {
  bench = await GrpcBench.start();
});
afterEach(() => bench.close());

describe('a call', () => {
  it('is answered: headers, messages, a status', async () => {
    const client = await RawHttp2.open(bench.path);
    await expectToWork(client);
    client.ask(103, '/echo', '');
    expect(await client.status(103)).toBe(0);
    expect(client.body(103)).toEqual(RawHttp2.message(''));
  });

  it('may have its message in many small frames, with padding', async () => {
    const client = await RawHttp2.open(bench.path);
    client.call(1, '/echo');
    for (const byte of RawHttp2.message('in pieces'))
      client.send(FRAME.data, FLAG.padded, 1, Buffer.from([3, byte, 0, 0, 0]));
    client.send(FRAME.data, FLAG.endStream, 1);
    expect(await client.status(1)).toBe(0);
    expect(client.body(1)).toEqual(RawHttp2.message('in pieces'));
  });

  it('may have its headers in many frames, with padding and a priority', async () => {
    const client = await RawHttp2.open(bench.path);
    const block = RawHttp2.callHeaders('/echo');
    const first = Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 16]), block.subarray(0, 5), Buffer.alloc(2)]);
    client.send(FRAME.headers, FLAG.padded | FLAG.priority, 1, first);
    for (const byte of block.subarray(5)) client.send(FRAME.continuation, 0, 1, Buffer.from([byte]));
    client.send(FRAME.continuation, FLAG.endHeaders, 1);
    client.send(FRAME.data, FLAG.endStream, 1, RawHttp2.message('x'));
    expect(await client.status(1)).toBe(0);
  });

  it('may end with trailers of the client', async () => {
    const client = await RawHttp2.open(bench.path);
    client.call(1, '/echo');
    client.send(FRAME.data, 0, 1, RawHttp2.message('x'));
    client.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 1, headerBlock([['a', 'b']]));
    expect(await client.status(1)).toBe(0);
  });

  it('of a method that is not there is UNIMPLEMENTED', async () => {
    const client = await RawHttp2.open(bench.path);
    client.ask(1, '/häh', 'x');
    expect(await client.status(1)).toBe(CODE.unimplemented);
    await expectToWork(client);
  });

  it('is told in a way that any text survives', async () => {
    const client = await RawHttp2.open(bench.path);
    client.call(1, '/hold');
    await client.settled();
    bench.held[0]!.finish({ code: CODE.notFound, details: 'größer als 100 %\n' });
    expect((await client.trailers(1)).get('grpc-message')).toBe('gr%C3%B6%C3%9Fer als 100 %25%0A');
  });

  it('of a kind that is none gets an HTTP status', async () => {
    const client = await RawHttp2.open(bench.path);
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
    const client = await RawHttp2.open(bench.path);
    client.call(1, '/flood');
    client.send(FRAME.data, FLAG.endStream, 1);
    expect(await client.status(1)).toBe(CODE.internal);
    client.call(3, '/echo');
    client.send(FRAME.data, FLAG.endStream, 3, RawHttp2.message('xyz').subarray(0, 6));
    expect(await client.status(3)).toBe(CODE.internal);
  });

  it('with a message that is too large is RESOURCE_EXHAUSTED before it has come, and the client told to stop', async () => {
    const client = await RawHttp2.open(bench.path);
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
    const client = await RawHttp2.open(bench.path);
    client.call(1, '/echo');
    client.send(FRAME.data, FLAG.endStream, 1, Buffer.from([1, 0, 0, 0, 0]));
    expect(await client.status(1)).toBe(CODE.unimplemented);
  });
});

describe('a deadline', () => {
  it('ends the call and aborts what is done for it', async () => {
    const client = await RawHttp2.open(bench.path);
    client.call(1, '/hold', [['grpc-timeout', '250m']]);
    await client.settled();
    const { signal } = bench.held[0]!;
    expect([...bench.timers.values()]).toEqual([250]);
    for (const task of bench.timers.keys()) task();
    expect(await client.status(1)).toBe(CODE.deadlineExceeded);
    expect(signal.aborted).toBe(true);
    expect(bench.timers.size).toBe(0);
  });

  it('is forgotten when the call is answered', async () => {
    const client = await RawHttp2.open(bench.path);
    client.call(1, '/echo', [['grpc-timeout', '1H']]);
    client.send(FRAME.data, FLAG.endStream, 1);
    expect(await client.status(1)).toBe(0);
    expect(bench.timers.size).toBe(0);
  });

  it('that cannot be read is refused', async () => {
    const client = await RawHttp2.open(bench.path);
    client.call(1, '/hold', [['grpc-timeout', 'soon']]);
    expect(await client.status(1)).toBe(CODE.invalidArgument);
    expect(bench.held).toEqual([]);
  });
});

describe('a client that leaves', () => {
  it('cancels one call, and no other', async () => {
    const client = await RawHttp2.open(bench.path);
    client.call(1, '/hold');
    client.call(3, '/hold');
    await client.settled();
    const signals = bench.held.map(({ signal }) => signal);
    const waiting = bench.held[0]!.next();
    client.number(FRAME.resetStream, 1, H2_ERROR.cancel);
    expect(await waiting).toBeUndefined();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    await bench.held[0]!.send(Buffer.from('to nobody'));
    bench.held[0]!.finish();
    await expectToWork(client);
    expect(client.frames.filter(({ streamId }) => streamId === 1)).toEqual([]);
  });

  it('in the middle of an answer is sent nothing more', async () => {
    const client = await RawHttp2.open(bench.path);
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
      const client = await RawHttp2.open(bench.path);
      client.call(1, '/hold');
      await client.settled();
      const waiting = bench.held[0]!.next();
      const { signal } = bench.held[0]!;
      const frame = RawHttp2.frame(FRAME.data, 0, 1, Buffer.alloc(1000));
      client.socket.write(frame.subarray(0, where.endsWith('frame') ? 500 : 4), () =>
        client.socket.destroy(),
      );
      expect(await waiting).toBeUndefined();
      expect(signal.aborted).toBe(true);
      await expectToWork(await RawHttp2.open(bench.path));
    },
  );
});
