const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** In the largest unit that is full: `3 min`. */
export function duration(ms: number): string {
  const [unit, size] = UNITS.find(([, size]) => ms >= size) ?? ['s', 1000];
  return `${Math.max(0, Math.floor(ms / size))} ${unit}`;
}

/** Since a moment of the server's clock, which may be ahead of ours. */
export function since(iso: string): string {
  return duration(Date.now() - Date.parse(iso));
}
