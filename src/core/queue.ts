import { isLater } from './moment.js';
import { type Policy } from './policy.js';
import { type KeyState, type Lane, type ResourceState, type Waiter } from './state.js';
import { type Asker } from './chunked-list.js';

/** Where a request waits: the lane of its subtype, or the common last one. */
export function laneName(subtype: string | undefined, policy: Policy): string {
  return subtype !== undefined && policy.lanes.includes(subtype) ? subtype : '';
}

/** The key's first waiter by lane order. */
export function head(key: KeyState, policy: Policy): Waiter | undefined {
  return inServiceOrder(key, policy)[0]?.waiters.first;
}

/** Everyone who waits, in the order of service. */
export function* waiters(key: KeyState, policy: Policy): Iterable<Waiter> {
  for (const lane of inServiceOrder(key, policy)) yield* lane.waiters;
}

/** The asker's place in the order of service, from 1. */
export function positionOf(key: KeyState, asker: Asker, policy: Policy): number {
  let before = 0;
  for (const lane of inServiceOrder(key, policy)) {
    const rank = lane.waiters.rank(asker);
    if (rank < lane.waiters.size) return before + rank + 1;
    before += lane.waiters.size;
  }
  return before + 1;
}

/** Of the heads of the resource's queues, the one that has waited longest. */
export function earliestHead(
  state: ResourceState,
  policy: Policy,
): { key: KeyState; waiter: Waiter } | undefined {
  let earliest: { key: KeyState; waiter: Waiter } | undefined;
  for (const key of state.keys) {
    const waiter = head(key, policy);
    if (waiter && (!earliest || isLater(earliest.waiter.ticket, waiter.ticket))) earliest = { key, waiter };
  }
  return earliest;
}

/** Lanes in configured order. Names no longer configured (a restart with other `LANES`) are served last. */
function inServiceOrder(key: KeyState, policy: Policy): readonly Lane[] {
  if (key.lanes.length < 2) return key.lanes;
  const order = (lane: Lane) => {
    const index = policy.lanes.indexOf(lane.name);
    return index < 0 ? policy.lanes.length : index;
  };
  return key.lanes.toSorted((a, b) => order(a) - order(b));
}
