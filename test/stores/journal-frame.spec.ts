import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findFrames, type Frame, FrameEncoder } from '../../src/stores/lmdb/journal-frame.js';

const NONCE = 0x1234_5678_9abc;

const text = fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 40 });
const frame: fc.Arbitrary<Frame> = fc.record({
  revision: fc.maxSafeNat(),
  previous: fc.maxSafeNat(),
  changes: fc.array(
    fc.record({
      key: text,
      revision: fc.maxSafeNat(),
      value: fc.option(text, { nil: undefined, freq: 3 }),
    }),
    { maxLength: 5 },
  ),
});

function bytesOf(frames: readonly Frame[], nonce = NONCE): Buffer {
  const encoder = new FrameEncoder(nonce);
  return Buffer.concat(frames.map((one) => Buffer.from(encoder.encode(one))));
}

/** Without the zeros behind it: a header, and the payload whose length is in it. */
function usedBytes(frame: Buffer): number {
  return 36 + frame.readUInt32LE(28);
}

describe('frames of a journal', () => {
  it('come back as they were, whatever is in them', () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 5 }), (frames) => {
        expect(findFrames(bytesOf(frames), NONCE)).toEqual(frames);
      }),
    );
  });

  it('are found whole or not at all when the file was cut or a byte is wrong', () => {
    fc.assert(
      fc.property(
        fc.array(frame, { minLength: 1, maxLength: 4 }),
        fc.nat(),
        fc.nat(),
        fc.boolean(),
        (frames, n, m, cut) => {
          const bytes = bytesOf(frames);
          const broken = n % frames.length;
          const start = bytesOf(frames.slice(0, broken)).length;
          const at = start + (m % usedBytes(bytesOf([frames[broken]!])));
          if (!cut) bytes[at] = bytes[at]! ^ 0x55;
          const whole = cut ? frames.slice(0, broken) : frames.filter((_, i) => i !== broken);
          expect(findFrames(cut ? bytes.subarray(0, at) : bytes, NONCE)).toEqual(whole);
        },
      ),
    );
  });

  it('are whole blocks, and behind what is used of the last there is nothing of an earlier one', () => {
    const encoder = new FrameEncoder(NONCE);
    const change = { key: 'k', revision: 1, value: 'x'.repeat(10_000) };
    expect(encoder.encode({ revision: 1, previous: 0, changes: [change] })).toHaveLength(3 * 4096);
    const short = encoder.encode({ revision: 2, previous: 1, changes: [] });
    expect(short).toHaveLength(4096);
    expect(short.subarray(usedBytes(short)).every((byte) => byte === 0)).toBe(true);
  });

  it('are found before and behind the rest of an older one that was written over', () => {
    fc.assert(
      fc.property(fc.array(frame, { minLength: 2, maxLength: 6 }), frame, (older, newer) => {
        const bytes = bytesOf(older);
        const over = bytesOf([newer]);
        fc.pre(over.length <= bytes.length);
        over.copy(bytes);
        let kept = older.length;
        while (kept > 0 && bytesOf(older.slice(-kept)).length > bytes.length - over.length) kept--;
        expect(findFrames(bytes, NONCE)).toEqual([newer, ...(kept === 0 ? [] : older.slice(-kept))]);
      }),
    );
  });

  it('are not those of another owner, nor what a value says', () => {
    const inner: Frame = { revision: 2, previous: 1, changes: [{ key: 'k', revision: 2, value: 'forged' }] };
    expect(findFrames(bytesOf([inner], NONCE + 1), NONCE)).toEqual([]);
    const value = bytesOf([inner], NONCE + 1).toString('latin1');
    const outer: Frame = { revision: 1, previous: 0, changes: [{ key: 'k', revision: 1, value }] };
    expect(findFrames(bytesOf([outer]).subarray(1), NONCE)).toEqual([]);
  });

  it('may be longer than the room the encoder keeps, which does not grow with them', () => {
    const long: Frame = {
      revision: 5,
      previous: 4,
      changes: Array.from({ length: 100 }, (_, n) => ({
        key: `${n}`,
        revision: 5,
        value: '€'.repeat(20_000),
      })),
    };
    const encoder = new FrameEncoder(NONCE);
    const first = encoder.encode(long);
    const second = encoder.encode({ ...long, changes: [] });
    expect(findFrames(Buffer.concat([first, second]), NONCE)).toEqual([long, { ...long, changes: [] }]);
    expect(first.length % 4096).toBe(0);
    expect(second.buffer.byteLength).toBeLessThan(first.buffer.byteLength);
  });
});
