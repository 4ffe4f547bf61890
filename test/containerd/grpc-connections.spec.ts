import { once } from 'node:events';
import { existsSync } from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import * as grpc from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FLAG, FRAME, H2_ERROR } from '../../src/containerd/http2/protocol.js';
import { expectToWork, GrpcBench, MAX_MESSAGE_BYTES } from '../support/containerd/grpc-bench.js';
import { RawHttp2 } from '../support/containerd/raw-http2.js';

let bench: GrpcBench;
beforeEach(async () => {
  bench = await GrpcBench.start();
});
afterEach(() => bench.close());

describe('the connection', () => {
  it('has room for ten thousand calls that wait; more are refused without harm', async () => {
    const client = await RawHttp2.open(bench.path);
    for (let n = 0; n < 10_001; n++) client.call(2 * n + 1, '/hold');
    expect(await client.reset(20_001)).toBe(H2_ERROR.refusedStream);
    expect(bench.held).toHaveLength(10_000);
    bench.held[5]!.finish();
    await expectToWork(client, 20_003);
  });

  it('answers pings at once, and ignores what it does not know', async () => {
    const client = await RawHttp2.open(bench.path);
    client.send(FRAME.priority, 0, 7, Buffer.alloc(5));
    client.send(0xee, 0xff, 9, Buffer.alloc(100));
    client.send(FRAME.goAway, 0, 0, Buffer.alloc(8));
    client.send(FRAME.ping, FLAG.ack, 0, Buffer.alloc(8));
    await client.settled();
    expect(client.frames.filter(({ type }) => type === FRAME.ping)).toHaveLength(1);
  });

  it('ends with the server: calls are cancelled, the client told, the socket gone', async () => {
    const client = await RawHttp2.open(bench.path);
    client.call(1, '/hold');
    await client.settled();
    const { signal } = bench.held[0]!;
    bench.server.close();
    expect(await client.goAway()).toBe(H2_ERROR.none);
    expect(signal.aborted).toBe(true);
    expect(existsSync(bench.path)).toBe(false);
  });

  it('a peer that asks and takes no answers is not read from for ever', async () => {
    const client = await RawHttp2.open(bench.path);
    await client.settled();
    client.socket.pause();
    const pings = Buffer.concat(
      Array.from({ length: 10_000 }, () => RawHttp2.frame(FRAME.ping, 0, 0, Buffer.alloc(8))),
    );
    let taken = 0;
    for (let n = 0; n < 100; n++) client.socket.write(pings, () => taken++);
    const other = await RawHttp2.open(bench.path);
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
    client = new grpc.Client(`unix:${bench.path}`, grpc.credentials.createInsecure());
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
      createConnection: () => net.connect(bench.path),
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
