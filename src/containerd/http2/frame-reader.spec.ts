import { describe, expect, it } from 'vitest';
import { FrameReader } from './frame-reader.js';
import { PREFACE } from './protocol.js';

type Frame = [type: number, flags: number, streamId: number, payload: string];

function reading() {
  const frames: Frame[] = [];
  const reader = new FrameReader({
    frame: (type, flags, streamId, payload) =>
      frames.push([type, flags, streamId, payload.toString('latin1')]),
  });
  return { frames, reader };
}

const header = (length: number, type: number, flags: number, streamId: number) => {
  const bytes = Buffer.alloc(9);
  bytes.writeUIntBE(length, 0, 3);
  bytes.writeUIntBE(type, 3, 1);
  bytes.writeUIntBE(flags, 4, 1);
  bytes.writeUInt32BE(streamId, 5);
  return bytes;
};
const frame = (type: number, flags: number, streamId: number, payload: string) =>
  Buffer.concat([header(payload.length, type, flags, streamId), Buffer.from(payload, 'latin1')]);

const sent: Frame[] = [
  [4, 0, 0, ''],
  [0, 1, 1, 'x'.repeat(16_384)],
  [6, 0, 0, '12345678'],
  [0, 0, 2 ** 31 - 1, 'y'.repeat(300)],
];
const bytes = Buffer.concat([PREFACE, ...sent.map((one) => frame(...one))]);

describe('frames', () => {
  it.each([1, 2, 8, 9, 10, 33, 1000, 16_393, 100_000])('arrive in pieces of %i bytes', (size) => {
    const { frames, reader } = reading();
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    expect(frames).toEqual(sent);
  });

  it('the reserved bit of a stream is not looked at', () => {
    const { frames, reader } = reading();
    reader.push(Buffer.concat([PREFACE, frame(0, 0, 2 ** 31 + 5, 'a')]));
    expect(frames).toEqual([[0, 0, 5, 'a']]);
  });

  it('one that is too long is refused before its payload has come', () => {
    const { reader } = reading();
    reader.push(PREFACE);
    expect(() => reader.push(header(16_385, 0, 0, 1))).toThrow('16385 bytes');
  });

  it.each(['GET / HTTP/1.1\r\n', `${PREFACE.toString('latin1').slice(0, 23)}x`])(
    'what does not begin as HTTP/2 is refused: %j',
    (text) => {
      const { reader } = reading();
      const push = () => {
        for (const byte of Buffer.from(text)) reader.push(Buffer.from([byte]));
      };
      expect(push).toThrow('preface');
    },
  );
});
