/** Looked at before other requests get their turn: some milliseconds. */
const PER_TURN = 1000;

/** Visits each, letting the event loop go on in between, and waits for a visit that says so. */
export async function inTurns<T>(all: Iterable<T>, visit: (one: T) => void | Promise<void>): Promise<void> {
  let visited = 0;
  for (const one of all) {
    if (++visited % PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    const visiting = visit(one);
    if (visiting) await visiting;
  }
}
