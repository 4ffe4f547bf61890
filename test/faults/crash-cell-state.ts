/** A node, or one session of it. */
export interface CellAsker {
  readonly node: string;
  readonly session?: string;
}

export interface CellWaiter {
  readonly asker: CellAsker;
  readonly leaseMs: number;
}

export interface CellHold extends CellWaiter {
  /** undefined: granted by a request whose answer never came. */
  readonly token: number | undefined;
}

/** What can be seen of a cell from outside. */
export interface CellState {
  readonly hold: CellHold | undefined;
  readonly queue: readonly CellWaiter[];
  readonly references: readonly string[];
}

export const EMPTY_CELL: CellState = { hold: undefined, queue: [], references: [] };

export function sameAsker(a: CellAsker, b: CellAsker): boolean {
  return a.node === b.node && a.session === b.session;
}

export function nameOf({ node, session }: CellAsker): string {
  return session === undefined ? node : `${node}/${session}`;
}

/** The hold has ended without a success: the head of the queue has it now. */
export function passedOn(state: CellState): CellState {
  const [next, ...queue] = state.queue;
  return { ...state, hold: next && { ...next, token: undefined }, queue };
}

export function withoutWaiter(state: CellState, asker: CellAsker): CellState {
  return { ...state, queue: state.queue.filter((waiter) => !sameAsker(waiter.asker, asker)) };
}

interface LockRow {
  readonly holder?: { node_id: string; session_id?: string; token: number; lease_ms: number };
  readonly waiters: readonly { node_id: string; session_id?: string }[];
}

/** The same, as answers of the server have it; leases of waiters do not show. */
export function seenState(locks: unknown, references: unknown): CellState {
  const [row] = (locks as { locks: LockRow[] }).locks;
  const { nodes } = references as { nodes: { node_id: string }[] };
  const asker = ({ node_id, session_id }: { node_id: string; session_id?: string }): CellAsker =>
    session_id === undefined ? { node: node_id } : { node: node_id, session: session_id };
  const holder = row?.holder;
  return {
    hold: holder && { asker: asker(holder), token: holder.token, leaseMs: holder.lease_ms },
    queue: (row?.waiters ?? []).map((waiter) => ({ asker: asker(waiter), leaseMs: 0 })),
    references: nodes.map(({ node_id }) => node_id),
  };
}

/** Whether this is what is seen: an unknown token must be a new one. */
export function isSeen(expected: CellState, seen: CellState, newestToken: number): boolean {
  const describe = ({ hold, queue, references }: CellState) =>
    JSON.stringify([
      hold && [nameOf(hold.asker), hold.leaseMs],
      queue.map(({ asker }) => nameOf(asker)),
      [...references].sort(),
    ]);
  if (describe(expected) !== describe(seen)) return false;
  if (!expected.hold || !seen.hold) return true;
  return (
    (seen.hold.token ?? 0) === expected.hold.token ||
    (expected.hold.token === undefined && (seen.hold.token ?? 0) > newestToken)
  );
}
