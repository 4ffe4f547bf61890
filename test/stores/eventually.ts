import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;

/** For what another process does in its own time. */
export async function eventually<T>(attempt: () => Promise<T>, withinMs = 20_000): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(POLL_MS);
    }
  }
}

/** How long it took to fulfil or reject, and with what. */
export async function timed<T>(promise: Promise<T>): Promise<{ tookMs: number; value?: T; error?: unknown }> {
  const startedAt = performance.now();
  try {
    const value = await promise;
    return { tookMs: performance.now() - startedAt, value };
  } catch (error) {
    return { tookMs: performance.now() - startedAt, error };
  }
}
