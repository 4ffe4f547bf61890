/** The part of vitest, jest and node:test that a contract suite needs. */
export interface ContractRunner {
  describe(name: string, body: () => void): unknown;
  it(name: string, body: () => Promise<void>): unknown;
}

/** Says that a test has nothing to prove of this subject; the test returns then. */
export type Skip = (reason: string) => void;

/**
 * A test that may find only when it runs, with its subject made, that it does not apply. vitest and node:test then show it as
 * skipped; jest has no such thing, there it passes.
 */
export function skippable(body: (skip: Skip) => Promise<void>): () => Promise<void> {
  // A declared parameter would be a `done` callback to jest, and fixtures to an extended `test` of vitest.
  return async function () {
    const context = arguments[0] as { skip?: Skip } | undefined;
    await body((reason) => context?.skip?.(reason));
  };
}
