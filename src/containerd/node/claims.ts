/** How many writes rely on a blob, or on becoming its user. */
export class Claims {
  private readonly counts = new Map<string, number>();

  begin(digest: string): void {
    this.counts.set(digest, (this.counts.get(digest) ?? 0) + 1);
  }

  end(digest: string): void {
    const left = (this.counts.get(digest) ?? 0) - 1;
    if (left > 0) this.counts.set(digest, left);
    else this.counts.delete(digest);
  }

  has(digest: string): boolean {
    return this.counts.has(digest);
  }
}
