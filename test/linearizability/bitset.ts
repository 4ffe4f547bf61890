/** Numbers from 0 to `size` - 1. */
export class Bitset {
  private readonly words: Uint32Array;

  constructor(size: number) {
    this.words = new Uint32Array((size >>> 5) + 1);
  }

  has(index: number): boolean {
    return ((this.words[index >>> 5]! >>> (index & 31)) & 1) === 1;
  }

  /** Adds it, or removes it if it is there. */
  flip(index: number): void {
    this.words[index >>> 5]! ^= 1 << (index & 31);
  }

  /** Says all there is to say about a set that has everything below `from` and nothing above `to`. */
  key(from: number, to: number): string {
    const first = from >>> 5;
    return `${first}:${this.words.subarray(first, (to >>> 5) + 1).join()}`;
  }
}
