import { BufferPool } from '../buffer-pool.js';

/** A megabyte, as containerd sends it, and what is said beside it. */
export const USUAL_MESSAGE_BYTES = (1 << 20) + 4096;

/** For as many writes at the same time. */
const MAX_SPARE = 4;

/** Memory for the messages that come in many pieces. */
export class MessageMemory {
  private readonly pool = new BufferPool(USUAL_MESSAGE_BYTES, MAX_SPARE);
  private readonly whole = new WeakMap<Buffer, Buffer>();

  take(bytes: number): Buffer {
    if (bytes > USUAL_MESSAGE_BYTES) return Buffer.allocUnsafeSlow(bytes);
    const memory = this.pool.take();
    const message = memory.subarray(0, bytes);
    this.whole.set(message, memory);
    return message;
  }

  /** Nobody looks at the message any more. One that is from elsewhere is left alone. */
  give(message: Buffer): void {
    const memory = this.whole.get(message);
    if (memory) this.pool.give(memory);
    this.whole.delete(message);
  }
}
