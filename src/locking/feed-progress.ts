interface Waiting {
  readonly partition: number;
  readonly revision: number;
  readonly reached: () => void;
}

/** Up to which revision the changes of each partition have been shown, and who waits for more. */
export class FeedProgress {
  private readonly shown = new Map<number, number>();
  private readonly listings = new Map<number, number>();
  private readonly waiting = new Set<Waiting>();

  /** Undefined before the first listing. */
  of(partition: number): number | undefined {
    return this.shown.get(partition);
  }

  /** How often it was listed. Between two listings of it, every change has been shown. */
  listingsOf(partition: number): number {
    return this.listings.get(partition) ?? 0;
  }

  list(partition: number, cursor: number): void {
    this.listings.set(partition, this.listingsOf(partition) + 1);
    this.reach(partition, cursor);
  }

  reach(partition: number, revision: number): void {
    this.shown.set(partition, revision);
    if (this.waiting.size === 0) return;
    for (const waiting of this.waiting) {
      if (waiting.partition !== partition || waiting.revision > revision) continue;
      this.waiting.delete(waiting);
      waiting.reached();
    }
  }

  /** Calls back once it is there; the answer stops that. */
  until(partition: number, revision: number, reached: () => void): () => void {
    const waiting = { partition, revision, reached };
    if ((this.shown.get(partition) ?? -1) >= revision) reached();
    else this.waiting.add(waiting);
    return () => void this.waiting.delete(waiting);
  }
}
