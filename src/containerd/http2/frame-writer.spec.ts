import { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { FrameWriter } from './frame-writer.js';

/** A socket's. */
const HIGH_WATER_BYTES = 16_384;

/** Takes what is written when it is told to. */
class SlowPeer extends Writable {
  readonly pieces: Buffer[] = [];
  private readonly pending: (() => void)[] = [];

  constructor() {
    super({ highWaterMark: HIGH_WATER_BYTES });
  }

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.pending.push(() => {
      this.pieces.push(Buffer.from(chunk));
      done();
    });
  }

  take(): void {
    this.pending.shift()?.();
  }
}

const payloadOf = (byte: number) => Buffer.alloc(16_384, byte);

describe('frames', () => {
  it('leave in one piece, whatever is answered at once or after promises that were ready', async () => {
    const peer = new SlowPeer();
    const writer = new FrameWriter(peer);
    const answer = async () => {
      for (let n = 0; n < 20; n++) await undefined;
      writer.frame(1, 4, 1, Buffer.from('head'));
      await undefined;
      writer.frame(0, 0, 1, payloadOf(7));
    };
    setImmediate(() => {
      writer.frame(6, 1, 0, Buffer.from('12345678'));
      void answer();
    });
    await turn();
    await turn();
    peer.take();
    expect(peer.pieces.map(({ length }) => length)).toEqual([9 + 8 + 9 + 4 + 9 + 16_384]);
  });

  it('are gathered while the peer takes none: a buffer for many, not for each', async () => {
    const peer = new SlowPeer();
    const writer = new FrameWriter(peer);
    const pings = 3000;
    for (let n = 0; n < pings; n++) {
      writer.frame(6, 1, 0, Buffer.from('12345678'));
      await turn();
    }
    while (writer.waiting > 0) {
      peer.take();
      await turn();
    }
    expect(Buffer.concat(peer.pieces)).toHaveLength(17 * pings);
    expect(peer.pieces).toHaveLength(Math.ceil(HIGH_WATER_BYTES / 17) + 1);
  });

  it('are whole however large they are together, and stay as they are until the peer has taken them', async () => {
    const peer = new SlowPeer();
    const writer = new FrameWriter(peer);
    const frames = Array.from({ length: 60 }, (_, n) => n);
    for (const n of frames) {
      writer.frame(0, n, n, payloadOf(n));
      if (n % 3 === 0) await turn();
      if (n % 7 === 0) peer.take();
    }
    await turn();
    while (writer.waiting > 0) {
      peer.take();
      await turn();
    }
    const sent = Buffer.concat(peer.pieces);
    expect(sent).toHaveLength(frames.length * (9 + 16_384));
    for (const n of frames) {
      const at = n * (9 + 16_384);
      expect(sent.subarray(at, at + 9)).toEqual(Buffer.from([0, 0x40, 0, 0, n, 0, 0, 0, n]));
    }
  });
});
