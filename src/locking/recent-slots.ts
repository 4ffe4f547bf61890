import { type ResourceSlot } from './resource-slot.js';

/**
 * Waking one takes a few microseconds. With many more than these, what they hold would outlive V8's young generation and
 * leave holes in the old one when they rest: measured, twice the memory for a million held locks.
 */
const KEPT_AWAKE = 100;

/** How recently a slot was used, as far as it matters here. The field belongs to `RecentSlots`. */
export type Recency = 'unknown' | 'known' | 'used again';

/**
 * Lets slots rest that have not been used for a while. A hand goes round the slots it knows, looking for room for a new
 * one: who was used since it last came by is passed over once, the first other one rests.
 */
export class RecentSlots {
  private readonly ring: ResourceSlot[] = [];
  private hand = 0;

  constructor(private readonly limit = KEPT_AWAKE) {}

  use(slot: ResourceSlot): void {
    if (slot.recency !== 'unknown') {
      slot.recency = 'used again';
      return;
    }
    slot.recency = 'known';
    if (this.ring.length < this.limit) this.ring.push(slot);
    else this.ring[this.makeRoom()] = slot;
  }

  private makeRoom(): number {
    for (;;) {
      const place = this.hand;
      const slot = this.ring[place]!;
      this.hand = (place + 1) % this.ring.length;
      if (slot.recency === 'used again') {
        slot.recency = 'known';
        continue;
      }
      slot.recency = 'unknown';
      slot.rest();
      return place;
    }
  }
}
