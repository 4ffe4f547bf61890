/** On an error: nobody can succeed, so that the waiters are sent away instead of trying in turn. */
export const FATAL = Symbol.for('holdfast.fatal');

/** A failure that nobody can do better: a 404, a bad digest. */
export class FatalError extends Error {
  override readonly name = 'FatalError';
  readonly [FATAL] = true;
}

/** Marked with `FATAL`, or by a property `fatal: true`. */
export function isFatal(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { [FATAL]: marked, fatal } = error as { [FATAL]?: unknown; fatal?: unknown };
  return marked === true || fatal === true;
}
