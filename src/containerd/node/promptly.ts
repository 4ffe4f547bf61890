import { type Clock } from '../../client/index.js';

/**
 * What containerd asks for inside its one write transaction waits for others no longer than this, because all of containerd's
 * writes wait with it. A server that is well answers in milliseconds, a busy one in tenths of a second; and a second is
 * what nobody who waits for containerd gives up after.
 */
export const PROMPT_MS = 1000;

/** Whether it is over in time, however it ends. */
export function isPrompt(clock: Clock, task: Promise<unknown>, withinMs = PROMPT_MS): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.after(withinMs, () => resolve(false), true);
    const over = () => {
      cancel();
      resolve(true);
    };
    task.then(over, over);
  });
}
