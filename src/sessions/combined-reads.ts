import { type Item, type StateStore } from '../stores/state-store.interface.js';

interface PendingRead {
  readonly key: string;
  readonly resolve: (item: Item | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Single keys, read from the store itself. Whoever asks while a read is under way is served by the next one, together with all
 * others who do: never by the one under way, which may have been answered before. So ten thousand renewals cost the engine about
 * as many reads as it can answer one after the other, and no more.
 */
export class CombinedReads {
  /** By partition, of those with a read under way. */
  private readonly waiting = new Map<number, PendingRead[]>();

  constructor(private readonly store: Pick<StateStore, 'get'>) {}

  get(partition: number, key: string): Promise<Item | undefined> {
    return new Promise((resolve, reject) => {
      const pending = { key, resolve, reject };
      const next = this.waiting.get(partition);
      if (next) next.push(pending);
      else void this.readAll(partition, [pending]);
    });
  }

  private async readAll(partition: number, first: readonly PendingRead[]): Promise<void> {
    for (let reads = first; reads.length > 0; reads = this.waiting.get(partition)!) {
      this.waiting.set(partition, []);
      await this.read(partition, reads);
    }
    this.waiting.delete(partition);
  }

  private async read(partition: number, reads: readonly PendingRead[]): Promise<void> {
    try {
      const items = await this.store.get(
        partition,
        reads.map(({ key }) => key),
      );
      for (const [index, { resolve }] of reads.entries()) resolve(items[index]);
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }
}
