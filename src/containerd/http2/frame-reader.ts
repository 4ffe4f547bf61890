import {
  ConnectionError,
  FRAME_HEADER_BYTES,
  H2_ERROR,
  MAX_FRAME_BYTES,
  PREFACE,
  protocolError,
} from './protocol.js';

export interface FrameSink {
  /** The payload is the receiver's to keep. */
  frame(type: number, flags: number, streamId: number, payload: Buffer): void;
}

const EMPTY = Buffer.alloc(0);

/**
 * Cuts what a client sends into frames. A frame that came in one piece is not copied. Throws `ConnectionError` for what is no
 * HTTP/2; nothing can be read after that.
 */
export class FrameReader {
  private prefaceSeen = 0;
  private readonly header = Buffer.alloc(FRAME_HEADER_BYTES);
  private headerFilled = 0;
  /** Of the frame whose payload is incomplete. */
  private payload: Buffer | undefined;
  private payloadFilled = 0;

  constructor(private readonly sink: FrameSink) {}

  push(chunk: Buffer): void {
    let at = this.preface(chunk);
    while (at < chunk.length) {
      if (this.payload) at += this.fillPayload(this.payload, chunk, at);
      else if (this.headerFilled > 0 || chunk.length - at < FRAME_HEADER_BYTES)
        at += this.fillHeader(chunk, at);
      else at = this.begin(chunk, at, chunk, at + FRAME_HEADER_BYTES);
    }
  }

  private preface(chunk: Buffer): number {
    if (this.prefaceSeen === PREFACE.length) return 0;
    const length = Math.min(chunk.length, PREFACE.length - this.prefaceSeen);
    if (chunk.compare(PREFACE, this.prefaceSeen, this.prefaceSeen + length, 0, length) !== 0)
      throw protocolError('This is not the preface of HTTP/2.');
    this.prefaceSeen += length;
    return length;
  }

  private fillHeader(chunk: Buffer, at: number): number {
    const length = chunk.copy(this.header, this.headerFilled, at);
    this.headerFilled += length;
    if (this.headerFilled < FRAME_HEADER_BYTES) return length;
    this.headerFilled = 0;
    return this.begin(this.header, 0, chunk, at + length) - at;
  }

  private fillPayload(payload: Buffer, chunk: Buffer, at: number): number {
    const length = chunk.copy(payload, this.payloadFilled, at);
    this.payloadFilled += length;
    if (this.payloadFilled < payload.length) return length;
    this.payload = undefined;
    this.deliver(this.header, 0, payload);
    return length;
  }

  /** The payload begins at `at` in the chunk. Returns where the next frame does. */
  private begin(header: Buffer, headerAt: number, chunk: Buffer, at: number): number {
    const length = header.readUIntBE(headerAt, 3);
    if (length > MAX_FRAME_BYTES)
      throw new ConnectionError(
        H2_ERROR.frameSize,
        `A frame has ${length} bytes, at most ${MAX_FRAME_BYTES}.`,
      );
    const end = at + length;
    if (end <= chunk.length) {
      this.deliver(header, headerAt, length === 0 ? EMPTY : chunk.subarray(at, end));
      return end;
    }
    if (header !== this.header) header.copy(this.header, 0, headerAt, headerAt + FRAME_HEADER_BYTES);
    this.payload = Buffer.allocUnsafe(length);
    this.payloadFilled = chunk.copy(this.payload, 0, at);
    return chunk.length;
  }

  private deliver(header: Buffer, at: number, payload: Buffer): void {
    this.sink.frame(header[at + 3]!, header[at + 4]!, header.readUInt32BE(at + 5) & 0x7fffffff, payload);
  }
}
