import { describe, expect, it } from 'vitest';
import { MessageReader } from './message-reader.js';
import { CODE } from './rpc-error.js';

const MAX = 1000;

function reading() {
  const messages: string[] = [];
  const onMessage = (message: Buffer) => messages.push(message.toString());
  return { messages, reader: new MessageReader(MAX, onMessage, (bytes) => Buffer.alloc(bytes)) };
}

const framed = (text: string, flag = 0) => {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(text.length, 1);
  return Buffer.concat([prefix, Buffer.from(text)]);
};

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

  it('one that is compressed is refused', () => {
    const { reader } = reading();
    expect(() => reader.push(framed('x', 1))).toThrow(expect.objectContaining({ code: CODE.unimplemented }));
  });
});
