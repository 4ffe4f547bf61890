/** How much a peer may send before it is told that more is taken. */
export class ReceiveWindow {
  private left: number;
  private taken = 0;

  constructor(
    private readonly bytes: number,
    private readonly widen: (bytes: number) => void,
  ) {
    this.left = bytes;
  }

  /** False: it was more than it may send. */
  receive(bytes: number): boolean {
    this.left -= bytes;
    return this.left >= 0;
  }

  /** Tells the peer when it is worth a frame. */
  take(bytes: number): void {
    this.taken += bytes;
    if (this.taken < this.bytes / 2) return;
    this.left += this.taken;
    this.widen(this.taken);
    this.taken = 0;
  }
}
