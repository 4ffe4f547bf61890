/** What was promised and has been looked at after a crash. */
export class Facts {
  readonly counts: Record<string, number> = {};
  readonly broken: string[] = [];

  get total(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  check(kind: string, holds: boolean, told: () => string): void {
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    if (!holds) this.broken.push(`${kind}: ${told()}`);
  }
}
