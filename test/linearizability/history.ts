/** What one client asked for, when, and what it was told. Times are of one clock. */
export interface Operation<I, O> {
  readonly client: string;
  readonly call: number;
  /** undefined: it may take effect at any time after its call. */
  readonly return?: number | undefined;
  readonly input: I;
  /**
   * undefined: nobody knows. It took effect at some time between call and return with some answer, or never. An
   * operation with an output took effect, and has a return.
   */
  readonly output?: O | undefined;
}

/** What the operations mean when they happen one after the other. */
export interface Model<S, I, O> {
  readonly initial: S;
  /** The states this operation can lead to; none if it cannot happen here with that output. Without one: with any. */
  step(state: S, operation: Operation<I, O>): readonly S[];
  /** Equal for equal states, and for no others. */
  key(state: S): string;
}

/** Parts of a history that have nothing to do with each other: a history is linearizable if each of them is. */
export function partition<I, O>(
  history: readonly Operation<I, O>[],
  partOf: (input: I) => string,
): Map<string, Operation<I, O>[]> {
  const parts = new Map<string, Operation<I, O>[]>();
  for (const operation of history) {
    const name = partOf(operation.input);
    const part = parts.get(name);
    if (part) part.push(operation);
    else parts.set(name, [operation]);
  }
  return parts;
}
