/**
 * Large buffers, used again and again: their garbage is outside of JavaScript's heap, and makes the collector go through all
 * of the heap for every few of them.
 */
export class BufferPool {
  private readonly spare: Buffer[] = [];

  constructor(
    readonly bufferBytes: number,
    private readonly maxSpare: number,
  ) {}

  take(): Buffer {
    return this.spare.pop() ?? Buffer.allocUnsafeSlow(this.bufferBytes);
  }

  /** Nobody looks at it any more. */
  give(buffer: Buffer): void {
    if (this.spare.length < this.maxSpare) this.spare.push(buffer);
  }
}
