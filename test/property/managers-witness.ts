import { expect } from 'vitest';
import { type LockEvent } from '../../src/core/events.js';
import { type Policy } from '../../src/core/policy.js';
import { parseItemKey } from '../../src/locking/records/item-keys.js';
import { decodeHead } from '../../src/locking/records/record.js';
import { type Change, type StateStore } from '../../src/stores/state-store.interface.js';

export interface Witnessed {
  readonly resourceId: string;
  readonly event: LockEvent;
}

const ENDS = new Set(['released', 'expired', 'completed', 'failed']);

/** Sees every commit of a store itself, without a manager between, and judges what it saw. */
export class Witness {
  readonly seen: Witnessed[] = [];

  static async of(store: StateStore): Promise<Witness> {
    const witness = new Witness();
    const { cursor } = await store.list(0);
    const compacted = () => {
      throw new Error('the witness was away');
    };
    store.watch(0, cursor, { committed: (changes) => witness.note(changes), compacted });
    return witness;
  }

  /** One holder at a time, by tokens that only grow. */
  checkExclusion({ lockIsolation }: Policy): void {
    const held = new Map<string, number>();
    const newest = new Map<string, number>();
    for (const { resourceId, event } of this.seen) {
      const place = lockIsolation === 'resource' ? resourceId : `${event.type}:${resourceId}`;
      if (event.name === 'granted' || event.name === 'assigned') {
        expect(held.has(place), `${place} is free when it is granted`).toBe(false);
        expect(event.token).toBeGreaterThan(newest.get(resourceId) ?? 0);
        held.set(place, event.token!);
        newest.set(resourceId, event.token!);
      } else if (ENDS.has(event.name) && event.token !== undefined) {
        expect(held.get(place), `${place} is held when its run ends`).toBe(event.token);
        held.delete(place);
      }
    }
  }

  find(resourceId: string, matches: (event: LockEvent) => boolean): LockEvent | undefined {
    return this.seen.find((entry) => entry.resourceId === resourceId && matches(entry.event))?.event;
  }

  private note(changes: readonly Change[]): void {
    const parts = new Map(changes.map(({ key, value }) => [parseItemKey(key)?.part, value?.toString()]));
    for (const { key, value, revision } of changes) {
      const name = parseItemKey(key);
      if (!name || name.part !== undefined || value === undefined) continue;
      const { resourceId } = name;
      const events = decodeHead(resourceId, value.toString(), revision).events((part) => parts.get(part)!);
      for (const event of events) this.seen.push({ resourceId, event });
    }
  }
}
