/** Chance as a parameter: a number in [0, 1). */
export type Random = () => number;

export const RANDOM = Symbol('RANDOM');
