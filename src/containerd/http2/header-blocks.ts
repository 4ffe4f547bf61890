import { ConnectionError, FLAG, FRAME, FRAME_HEADER_BYTES, H2_ERROR, protocolError } from './protocol.js';

/** Requests of containerd have a few hundred bytes. */
const MAX_BLOCK_BYTES = 64 * 1024;

export interface CompleteBlock {
  readonly streamId: number;
  readonly isEndOfStream: boolean;
  readonly block: Buffer;
}

/** Puts header blocks together from HEADERS and the CONTINUATIONs which must follow at once. */
export class HeaderBlocks {
  private streamId = 0;
  private isEndOfStream = false;
  private parts: Buffer[] = [];
  private bytes = 0;

  /** Whether a frame of this type may come now. */
  check(type: number, streamId: number): void {
    const isAwaited = this.streamId !== 0;
    if (isAwaited === (type === FRAME.continuation) && (!isAwaited || streamId === this.streamId)) return;
    throw protocolError('A header block is interrupted, or goes on without a beginning.');
  }

  /** The block, when it is complete. */
  add(type: number, flags: number, streamId: number, payload: Buffer): CompleteBlock | undefined {
    if (type === FRAME.headers) {
      this.streamId = streamId;
      this.isEndOfStream = (flags & FLAG.endStream) !== 0;
      this.parts = [];
      this.bytes = 0;
    }
    this.bytes += payload.length + FRAME_HEADER_BYTES; // so that empty frames do not go on for ever
    if (this.bytes > MAX_BLOCK_BYTES)
      throw new ConnectionError(
        H2_ERROR.enhanceYourCalm,
        `A header block has more than ${MAX_BLOCK_BYTES} bytes.`,
      );
    this.parts.push(payload);
    if ((flags & FLAG.endHeaders) === 0) return undefined;
    this.streamId = 0;
    const block = this.parts.length === 1 ? payload : Buffer.concat(this.parts);
    return { streamId, isEndOfStream: this.isEndOfStream, block };
  }
}
