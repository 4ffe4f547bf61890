import { type Clock } from '../../client/index.js';

/** Nobody waits longer than they wanted to only to hear more of what is settled. */
const SOON_MS = 1000;

/** What is only worth telling if it is known soon. `undefined`: it was not, or there was no answer. */
export function soon<T>(clock: Clock, answer: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const cancel = clock.after(SOON_MS, () => resolve(undefined));
    void answer.then(resolve, () => resolve(undefined)).finally(cancel);
  });
}
