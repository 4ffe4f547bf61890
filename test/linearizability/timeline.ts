import { type Operation } from './history.js';

/** The call or the return of an operation that is known to have taken effect. */
export interface Mark<I, O> {
  readonly operation: Operation<I, O>;
  /** Of the operation, in the order of calls. */
  readonly index: number;
  /** Place among all calls and returns. */
  readonly at: number;
  /** Of a call: where the operation returns. */
  readonly returns?: Mark<I, O>;
  previous: Mark<I, O> | undefined;
  next: Mark<I, O> | undefined;
}

/** An operation of which nobody knows whether it took effect. */
export interface Maybe<I, O> {
  readonly operation: Operation<I, O>;
  readonly index: number;
  readonly calledAt: number;
  readonly returnedAt: number;
  /** The same was asked for before, and may take effect as long: if one of them did, say it was that. */
  readonly twin: Maybe<I, O> | undefined;
}

/**
 * The calls and returns of a history as Lowe's doubly linked list: an operation that is linearised is lifted out, and put back
 * when the search takes it back. What is unknown stands beside the list, for it stops nobody.
 */
export class Timeline<I, O> {
  first: Mark<I, O> | undefined;
  readonly maybes: readonly Maybe<I, O>[];
  readonly size: number;

  constructor(history: readonly Operation<I, O>[]) {
    const calls = history.toSorted((a, b) => a.call - b.call);
    const places = placesOf(calls);
    const known = calls.filter(({ output }) => output !== undefined);
    this.size = known.length;
    const latest = new Map<string, Maybe<I, O>>();
    this.maybes = calls
      .filter(({ output }) => output === undefined)
      .map((operation, index) => {
        const { call, return: returned } = places.get(operation)!;
        const name = operation.return === undefined ? JSON.stringify(operation.input) : `${index}`;
        const maybe = { operation, index, calledAt: call, returnedAt: returned, twin: latest.get(name) };
        latest.set(name, maybe);
        return maybe;
      });
    this.link(known.flatMap((operation, index) => marksOf(operation, index, places.get(operation)!)));
  }

  lift(call: Mark<I, O>): void {
    this.unlink(call);
    this.unlink(call.returns!);
  }

  /** Takes back the latest `lift`. */
  putBack(call: Mark<I, O>): void {
    this.relink(call.returns!);
    this.relink(call);
  }

  private link(marks: Mark<I, O>[]): void {
    marks.sort((a, b) => a.at - b.at);
    for (const [index, mark] of marks.entries()) {
      mark.previous = marks[index - 1];
      mark.next = marks[index + 1];
    }
    this.first = marks[0];
  }

  private unlink({ previous, next }: Mark<I, O>): void {
    if (previous) previous.next = next;
    else this.first = next;
    if (next) next.previous = previous;
  }

  private relink(mark: Mark<I, O>): void {
    if (mark.previous) mark.previous.next = mark;
    else this.first = mark;
    if (mark.next) mark.next.previous = mark;
  }
}

interface Places {
  readonly call: number;
  readonly return: number;
}

/** A call and a return at the same time overlap: nobody can say which was first. */
function placesOf<I, O>(history: readonly Operation<I, O>[]): Map<Operation<I, O>, Places> {
  const times = history.flatMap((operation) => [
    { operation, time: operation.call, returns: false },
    { operation, time: operation.return ?? Infinity, returns: true },
  ]);
  times.sort((a, b) => (a.time === b.time ? Number(a.returns) - Number(b.returns) : a.time - b.time));
  const places = new Map<Operation<I, O>, { call: number; return: number }>();
  for (const [at, { operation, returns }] of times.entries()) {
    if (!returns) places.set(operation, { call: at, return: Infinity });
    else places.get(operation)!.return = at;
  }
  return places;
}

function marksOf<I, O>(operation: Operation<I, O>, index: number, places: Places): Mark<I, O>[] {
  if (operation.return === undefined || operation.return < operation.call) {
    throw new Error(`an answered operation returns after its call: ${JSON.stringify(operation)}`);
  }
  const nowhere = { operation, index, previous: undefined, next: undefined };
  const returns = { ...nowhere, at: places.return };
  return [{ ...nowhere, at: places.call, returns }, returns];
}
