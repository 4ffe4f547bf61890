import { describe, expect, it } from 'vitest';
import { MessageReader } from './message-reader.js';
import { CODE } from './rpc-error.js';

const MAX = 1000;
const MB = 1 << 20;

function reading() {
  const messages: string[] = [];
  const onMessage = (message: Buffer) => messages.push(message.toString());
  return { messages, reader: new MessageReader(MAX, onMessage, (bytes) => Buffer.alloc(bytes)) };
}

const framed = (text: string, flag = 0) => Buffer.concat([prefixOf(text.length, flag), Buffer.from(text)]);

function prefixOf(length: number, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(length, 1);
  return prefix;
}

describe('messages', () => {
  const sent = ['', 'a', 'b'.repeat(MAX), '', 'c'];
  const bytes = Buffer.concat(sent.map((text) => framed(text)));

  it.each([1, 4, 5, 6, 7, 100, 5000])('arrive in pieces of %i bytes', (size) => {
    const { messages, reader } = reading();
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    expect(messages).toEqual(sent);
    expect(reader.isInside).toBe(false);
  });

  it.each([3, 5, 8])('one of which %i bytes have come is not complete', (size) => {
    const { messages, reader } = reading();
    reader.push(framed('abcd').subarray(0, size));
    expect(messages).toEqual([]);
    expect(reader.isInside).toBe(true);
  });

  it('one that is too long is refused before it has come', () => {
    const { reader } = reading();
    const refused = expect.objectContaining({ code: CODE.resourceExhausted });
    expect(() => reader.push(framed('x'.repeat(MAX + 1)).subarray(0, 5))).toThrow(refused);
  });

  it.each([1000, 65_536, 3 * MB])('one of many megabytes arrives in pieces of %i bytes', (size) => {
    const sent = Buffer.alloc(10 * MB, 'abc');
    const taken: Buffer[] = [];
    const onMessage = (message: Buffer) => taken.push(message);
    const reader = new MessageReader(10 * MB, onMessage, (bytes) => Buffer.alloc(bytes));
    const bytes = Buffer.concat([prefixOf(10 * MB), sent, prefixOf(0)]);
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    expect(taken.map((message) => message.length)).toEqual([10 * MB, 0]);
    expect(taken[0]!.equals(sent)).toBe(true);
  });

  it('memory is taken for what has come, not for what is announced', () => {
    let taken = 0;
    const take = (bytes: number) => Buffer.alloc((taken = bytes));
    const reader = new MessageReader(16 * MB, () => undefined, take);
    reader.push(Buffer.concat([prefixOf(16 * MB), Buffer.alloc(1000)]));
    expect(taken).toBe(0);
    reader.push(Buffer.alloc(16_384));
    expect(taken).toBeLessThan(2 * MB);
    reader.push(Buffer.alloc(5 * MB));
    expect(taken).toBeLessThan(10 * MB);
  });

  it('one that is compressed is refused', () => {
    const { reader } = reading();
    expect(() => reader.push(framed('x', 1))).toThrow(expect.objectContaining({ code: CODE.unimplemented }));
  });
});
