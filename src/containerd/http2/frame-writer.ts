import { type Writable } from 'node:stream';
import { FRAME, FRAME_HEADER_BYTES } from './protocol.js';

/** Room for the whole answer to a read of 32 KB, which then is one system call and wakes the peer once. */
const BUFFER_BYTES = 64 * 1024;

/** Kept for the next answers. */
const MAX_SPARE = 4;

/**
 * Frames on their way out. What is written in one turn of the event loop leaves in one piece, when everything that was ready
 * to run has run. It copies, which takes 4 µs for 32 KB, so that whoever wrote may use its memory again. While the peer takes
 * nothing, frames are gathered until a buffer is full: each that leaves for 17 bytes keeps all of its 64 KB.
 */
export class FrameWriter {
  private buffer: Buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  private filled = 0;
  private isFlushing = false;
  private readonly spare: Buffer[] = [];

  constructor(private readonly out: Writable) {
    out.on('drain', () => this.flush());
  }

  /** Bytes that the peer has not taken. */
  get waiting(): number {
    return this.out.writableLength;
  }

  /** As many bytes of payload are to follow. */
  header(length: number, type: number, flags: number, streamId: number): void {
    if (BUFFER_BYTES - this.filled < FRAME_HEADER_BYTES) this.flush();
    const { buffer, filled } = this;
    buffer.writeUIntBE(length, filled, 3);
    buffer[filled + 3] = type;
    buffer[filled + 4] = flags;
    buffer.writeUInt32BE(streamId, filled + 5);
    this.filled = filled + FRAME_HEADER_BYTES;
    this.flushSoon();
  }

  payload(bytes: Uint8Array, from = 0, to = bytes.length): void {
    for (let at = from; at < to;) {
      if (this.filled === BUFFER_BYTES) this.flush();
      const length = Math.min(to - at, BUFFER_BYTES - this.filled);
      this.buffer.set(length === bytes.length ? bytes : bytes.subarray(at, at + length), this.filled);
      this.filled += length;
      at += length;
    }
  }

  frame(type: number, flags: number, streamId: number, payload: Uint8Array): void {
    this.header(payload.length, type, flags, streamId);
    this.payload(payload);
  }

  /** A frame whose payload is one number. */
  number(type: number, streamId: number, value: number): void {
    const payload = Buffer.allocUnsafe(4);
    payload.writeUInt32BE(value);
    this.frame(type, 0, streamId, payload);
  }

  resetStream(streamId: number, code: number): void {
    this.number(FRAME.resetStream, streamId, code);
  }

  flush(): void {
    if (this.filled === 0) return;
    const { buffer, filled } = this;
    this.buffer = this.spare.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES);
    this.filled = 0;
    this.out.write(buffer.subarray(0, filled), () => {
      if (this.spare.length < MAX_SPARE) this.spare.push(buffer);
    });
  }

  private readonly flushNow = () => {
    this.isFlushing = false;
    if (!this.out.writableNeedDrain) this.flush();
  };

  private flushSoon(): void {
    if (this.isFlushing) return;
    this.isFlushing = true;
    queueMicrotask(() => process.nextTick(this.flushNow)); // ticks go before microtasks, except those that microtasks add
  }
}
