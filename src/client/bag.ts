/** What a bag keeps. The field belongs to the bag. */
export interface Kept {
  /** -1: in none. */
  place: number;
}

/**
 * A set in no order, for what comes and goes with every call. V8 makes a new table for a `Set` when the old one is full of gaps, and has the
 * old one point to it: one table that has outlived a few collections then keeps all after it alive, with what they held, until
 * everything is collected. That made a seventh of a client's work.
 */
export class Bag<T extends Kept> implements Iterable<T> {
  private readonly items: T[] = [];

  get size(): number {
    return this.items.length;
  }

  add(item: T): void {
    item.place = this.items.push(item) - 1;
  }

  delete(item: T): void {
    const { place } = item;
    if (place < 0) return;
    const last = this.items.pop()!;
    if (last !== item) {
      this.items[place] = last;
      last.place = place;
    }
    item.place = -1;
  }

  /** Of those in it now, whatever comes and goes meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    return [...this.items].values();
  }
}
