import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CODE } from '../../src/containerd/grpc/rpc-error.js';
import { FRAME, H2_ERROR, SETTING } from '../../src/containerd/http2/protocol.js';
import { expectToWork, GrpcBench } from '../support/containerd/grpc-bench.js';
import { RawHttp2 } from '../support/containerd/raw-http2.js';

let bench: GrpcBench;
beforeEach(async () => {
  bench = await GrpcBench.start();
});
afterEach(() => bench.close());

describe('flow control', () => {
  it('no more is sent than the client takes, on a stream and on all together', async () => {
    const client = await RawHttp2.open(bench.path, [SETTING.initialWindowSize, 100]);
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
    const client = await RawHttp2.open(bench.path, [SETTING.initialWindowSize, 1_000_000]);
    for (const streamId of [1, 3, 5]) client.ask(streamId, '/flood', '100000');
    await client.settled();
    for (let n = 0; n < 3; n++) client.number(FRAME.windowUpdate, 0, 1000);
    await client.settled();
    expect([1, 3, 5].map((id) => client.body(id).length)).toEqual([66_535, 1000, 1000]);
  });

  it('the client may change its mind about the size of windows', async () => {
    const client = await RawHttp2.open(bench.path, [SETTING.initialWindowSize, 10]);
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
    const client = await RawHttp2.open(bench.path);
    const isUpdate = (streamId: number) => (one: { type: number; streamId: number }) =>
      one.type === FRAME.windowUpdate && one.streamId === streamId;
    const message = RawHttp2.message('m'.repeat(15_000));
    client.call(1, '/hold');
    for (let sent = 0; sent < 4_100_000; sent += message.length) client.send(FRAME.data, 0, 1, message);
    await client.settled();
    expect(client.frames.some(isUpdate(1))).toBe(false);
    for (let n = 0; n < 300 && !client.frames.some(isUpdate(1)); n++) {
      await bench.held[0]!.next();
      await client.settled();
    }
    expect(client.frames.some(isUpdate(1))).toBe(true);
  });

  it('who sends messages of no bytes, which no window counts, is stopped too', async () => {
    const client = await RawHttp2.open(bench.path);
    client.call(1, '/hold');
    const empty = Buffer.alloc(15_000); // three thousand of them
    for (let n = 0; n < 6; n++) client.send(FRAME.data, 0, 1, empty);
    expect(await client.status(1)).toBe(CODE.resourceExhausted);
    await expectToWork(client);
  });

  it('small messages that wait do not keep all that came with them', async () => {
    const client = await RawHttp2.open(bench.path);
    client.call(1, '/hold');
    client.send(
      FRAME.data,
      0,
      1,
      Buffer.concat([RawHttp2.message('small'), RawHttp2.message('x'.repeat(9000))]),
    );
    await client.settled();
    const small = (await bench.held[0]!.next())!;
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
      const [one, other] = [await RawHttp2.open(bench.path), await RawHttp2.open(bench.path)];
      expect(await fill(one, 1, 6, frames)).toBe(0);
      expect(await fill(other, 1, 20, frames)).toBeGreaterThan(5);
      one.socket.destroy();
      other.socket.destroy();
      await once(one.socket, 'close');
      const next = await RawHttp2.open(bench.path);
      await expectToWork(next);
      expect(await fill(next, 201, 6, frames)).toBe(0);
    });

    it('what is being handled counts until it is done, also when its call is cut', async () => {
      const client = await RawHttp2.open(bench.path);
      const cut = async (streamId: number) => {
        client.call(streamId, '/hold');
        for (const frame of framesOfLarge) client.send(FRAME.data, 0, streamId, frame);
        await client.settled();
        void bench.held.at(-1)!.next();
        client.number(FRAME.resetStream, streamId, H2_ERROR.cancel);
        await client.settled();
      };
      for (let id = 1; id < 17; id += 2) await cut(id);
      expect(await fill(client, 101, 1, framesOfLarge)).toBe(1);
      for (const call of bench.held) call.finish();
      expect(await fill(client, 201, 6, framesOfLarge)).toBe(0);
    });
  });

  it('a client may send for ever', async () => {
    const client = await RawHttp2.open(bench.path);
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
      void bench.held[0]?.next();
    }
    await client.settled();
    expect(allowed(0) + 65_535).toBeGreaterThan(sent);
    expect(allowed(1) + (4 << 20)).toBeGreaterThan(sent);
  });

  it('who sends more than it may is cut off', async () => {
    const client = await RawHttp2.open(bench.path);
    client.call(1, '/hold');
    const frame = RawHttp2.frame(FRAME.data, 0, 1, RawHttp2.message('m'.repeat(16_000)));
    for (let sent = 0; sent < (4 << 20) + 16_005; sent += 16_005) client.socket.write(frame);
    expect(await client.reset(1)).toBe(H2_ERROR.flowControl);
    await expectToWork(client);
  });
});
