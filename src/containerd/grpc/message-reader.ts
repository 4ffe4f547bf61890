import { USUAL_MESSAGE_BYTES } from './message-memory.js';
import { CODE, RpcError } from './rpc-error.js';

/** A byte that says whether it is compressed, and the length. */
export const PREFIX_BYTES = 5;

/**
 * What a message gets before more of it has come: a frame's worth. Memory that is only announced costs a client five bytes, and
 * the collector goes through the heap for every few of the large ones.
 */
const FIRST_BYTES = 16_384;

/** Cuts the body of a request into messages. One that came in one piece is not copied. Throws `RpcError`. */
export class MessageReader {
  private readonly prefix = Buffer.alloc(PREFIX_BYTES);
  private prefixFilled = 0;
  private message: Buffer | undefined;
  /** Of the whole message. */
  private size = 0;
  private filled = 0;

  constructor(
    private readonly maxBytes: number,
    private readonly onMessage: (message: Buffer) => void,
    private readonly memory: (bytes: number) => Buffer,
  ) {}

  /** Whether a message has begun and not ended. */
  get isInside(): boolean {
    return this.prefixFilled > 0;
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (this.message) at += this.fill(this.message, chunk, at);
      else at = this.begin(chunk, at);
    }
  }

  private begin(chunk: Buffer, start: number): number {
    const length = chunk.copy(this.prefix, this.prefixFilled, start);
    this.prefixFilled += length;
    if (this.prefixFilled < PREFIX_BYTES) return start + length;
    this.size = this.checkedSize();
    const at = start + length;
    const end = at + this.size;
    if (end <= chunk.length) {
      this.deliver(chunk.subarray(at, end));
      return end;
    }
    this.message = Buffer.allocUnsafe(Math.min(this.size, FIRST_BYTES));
    this.filled = 0;
    return at;
  }

  private fill(message: Buffer, chunk: Buffer, at: number): number {
    const length = chunk.copy(message, this.filled, at);
    this.filled += length;
    if (this.filled === this.size) this.deliver(message);
    else if (this.filled === message.length) this.message = this.larger(message);
    return length;
  }

  private larger(message: Buffer): Buffer {
    const larger = this.memory(Math.min(this.size, Math.max(USUAL_MESSAGE_BYTES, 2 * message.length)));
    message.copy(larger);
    return larger;
  }

  private deliver(message: Buffer): void {
    this.message = undefined;
    this.prefixFilled = 0;
    this.onMessage(message);
  }

  private checkedSize(): number {
    if (this.prefix[0] !== 0)
      throw new RpcError(CODE.unimplemented, 'The message is compressed, which this service does not take.');
    const size = this.prefix.readUInt32BE(1);
    if (size <= this.maxBytes) return size;
    throw new RpcError(
      CODE.resourceExhausted,
      `The message has ${size} bytes, at most ${this.maxBytes} are taken.`,
    );
  }
}
