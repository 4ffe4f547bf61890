/** A member of a chain; of one only, and once. */
export interface Link<T> {
  previous: T | undefined;
  next: T | undefined;
}

/**
 * Members in the order in which they came. To join and to leave costs the same whatever their number, and less than with a set,
 * which has to make up a hash for every object.
 */
export class Chain<T extends Link<T>> {
  first: T | undefined;
  private last: T | undefined;

  add(member: T): void {
    member.previous = this.last;
    if (this.last) this.last.next = member;
    else this.first = member;
    this.last = member;
  }

  delete(member: T): void {
    const { previous, next } = member;
    if (previous) previous.next = next;
    else this.first = next;
    if (next) next.previous = previous;
    else this.last = previous;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let member = this.first; member; member = member.next) yield member;
  }
}
