/** Numbers in [0, 1) that depend on the seed alone (mulberry32). */
export type Random = () => number;

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[Math.floor(random() * choices.length)]!;
}

export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const keys = new Map(items.map((item) => [item, random()]));
  return items.toSorted((a, b) => keys.get(a)! - keys.get(b)!);
}
