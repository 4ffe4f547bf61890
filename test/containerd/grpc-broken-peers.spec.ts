import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FLAG, FRAME, H2_ERROR, PREFACE } from '../../src/containerd/http2/protocol.js';
import { expectToWork, GrpcBench } from '../support/containerd/grpc-bench.js';
import { RawHttp2 } from '../support/containerd/raw-http2.js';

let bench: GrpcBench;
beforeEach(async () => {
  bench = await GrpcBench.start();
});
afterEach(() => bench.close());

describe('a peer that breaks the protocol gets a GOAWAY and is cut', () => {
  it('who does not speak HTTP/2', async () => {
    const client = await RawHttp2.connect(bench.path);
    client.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await client.goAway()).toBe(H2_ERROR.protocol);
  });

  it('who does not begin with SETTINGS', async () => {
    const client = await RawHttp2.connect(bench.path);
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
    const client = await RawHttp2.open(bench.path);
    misbehave(client);
    expect(await client.goAway()).toBe(code);
    await expectToWork(await RawHttp2.open(bench.path));
  });

  it('any bytes after the greeting: the server goes on', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const client = await RawHttp2.open(bench.path);
      client.call(1, '/hold');
      const noise = Buffer.from(
        Array.from({ length: 2000 }, (_, n) => ((n + 7) * seed * 2_654_435_761) >>> 11),
      );
      client.socket.write(noise, () => client.socket.destroy());
      await client.untilClosed();
    }
    await expectToWork(await RawHttp2.open(bench.path));
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
    const client = await RawHttp2.open(bench.path);
    client.call(1, '/hold');
    misbehave(client);
    expect(await client.reset(1)).toBe(code);
    await expectToWork(client);
  });

  it('too many headers', async () => {
    const client = await RawHttp2.open(bench.path);
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
