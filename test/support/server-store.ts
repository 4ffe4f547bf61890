import { type Clock } from '../../src/common/clock.interface.js';
import { MemoryStateStore } from '../../src/stores/memory/memory-state-store.js';
import { type Listing } from '../../src/stores/state-store.interface.js';
import { WrappedStore } from './wrapped-store.js';

/** A store in memory that outlives its server, as a disk does. */
export class KeptStore extends WrappedStore {
  constructor(clock: Clock) {
    super(new MemoryStateStore(clock));
  }

  override async close(): Promise<void> {
    // The next server goes on with it.
  }

  override list(partition: number, prefix?: string): Promise<Listing> {
    return this.inner.list(partition, prefix);
  }

  /** Takes something away behind the server's back. */
  async remove(key: string): Promise<void> {
    const [item] = await this.inner.get(0, [key]);
    if (item) await this.inner.commit(0, [{ key, expect: item.revision, delete: true }]);
  }
}
