import { describe, expect, it, vi } from 'vitest';
import { Exchange } from './exchange.js';
import { readAnswerHead } from './http/answer-head.js';
import { type Reply } from './reply.js';

const MEGABYTE = 1024 * 1024;

function scene(...headers: string[]) {
  const done = vi.fn<(exchange: Exchange, reply: Reply) => void>();
  const abandon = vi.fn();
  const exchange = new Exchange('http://s/', 0, 100, () => 7, done);
  exchange.abandon = abandon;
  exchange.onHead(readAnswerHead(['HTTP/1.1 200 OK', ...headers].join('\r\n')));
  const reply = () => done.mock.calls[0]![1];
  return { exchange, done, abandon, reply };
}

describe('an exchange', () => {
  it.each([
    ['in one piece', ['["汉字"]'], 'content-length: 10'],
    ['in two, cut in a character', ['["汉', '字"]'], 'content-length: 10'],
    ['in chunks', ['["', '汉字"', ']'], 'transfer-encoding: chunked'],
  ])('has the answer that came %s', (_, pieces, header) => {
    const { exchange, reply } = scene(header);
    const bytes = Buffer.from(pieces.join(''));
    let at = 0;
    for (const piece of pieces) {
      const end = pieces.at(-1) === piece ? bytes.length : at + piece.length + 1;
      const memory = Buffer.from(bytes.subarray(at, end));
      exchange.onData(memory);
      memory.fill('#');
      at = end;
    }
    exchange.onEnd();
    expect(reply()).toMatchObject({ status: 200, body: ['汉字'], ms: 7, cause: undefined });
  });

  it('has the answer whatever is passed on of it at a time', () => {
    const text = JSON.stringify(Array.from({ length: 50_000 }, (_, n) => `é${n}`));
    for (const size of [1, 1000, 65_536, 10 * MEGABYTE]) {
      const { exchange, reply } = scene();
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += size) exchange.onData(bytes.subarray(at, at + size));
      exchange.onEnd();
      expect(JSON.stringify(reply().body)).toBe(text);
    }
  });

  it('needs no more memory for an answer that comes byte by byte', () => {
    const { exchange } = scene('transfer-encoding: chunked');
    const byte = Buffer.from('1');
    const used = () => process.memoryUsage().heapUsed + process.memoryUsage().external;
    const before = used();
    for (let n = 0; n < MEGABYTE; n++) exchange.onData(byte);
    expect(used() - before).toBeLessThan(40 * MEGABYTE);
  });

  it('is over when the answer is too long, however it comes', () => {
    for (const header of ['content-length: 8388609', 'transfer-encoding: chunked']) {
      const { exchange, done, abandon, reply } = scene(header);
      exchange.onData(Buffer.alloc(8 * MEGABYTE));
      expect(done).not.toHaveBeenCalled();
      exchange.onData(Buffer.from('x'));
      expect(reply()).toMatchObject({ status: 0, cause: { message: 'the answer is too long' } });
      expect(abandon).toHaveBeenCalledTimes(1);
    }
  });

  it('has one reply, whatever comes after it', () => {
    const { exchange, done, reply } = scene('content-length: 2');
    exchange.abort(new Error('enough'));
    exchange.onData(Buffer.from('{}'));
    exchange.onEnd();
    exchange.onError(new Error('cut'));
    expect(done).toHaveBeenCalledTimes(1);
    expect(reply()).toMatchObject({ status: 0, cause: { message: 'enough' } });
  });

  it.each([
    ['3', 3000],
    ['0', 0],
    ['-1', undefined],
    ['nonsense', undefined],
  ])('may be tried again after %j', (retryAfter, ms) => {
    const { exchange, reply } = scene(`retry-after: ${retryAfter}`);
    exchange.onEnd();
    expect(reply().retryAfterMs).toBe(ms);
  });
});
