import { type Attempt } from './errors.js';
import { attemptOf, isRetriable, type Reply } from './reply.js';

/** Where neither streams nor long polls come through, a wait of a day looks a hundred thousand times. */
const MAX_ATTEMPTS = 1000;

/**
 * What was tried for one call so far, each try when it has been answered or has broken. Of very many the latest are kept. A call that
 * runs out of time has no reply to tell it by.
 */
export class Tries {
  readonly attempts: Attempt[] = [];
  private last: Reply | undefined;

  note(reply: Reply): void {
    this.last = reply;
    this.attempts.push(attemptOf(reply));
    if (this.attempts.length > MAX_ATTEMPTS) this.attempts.shift();
  }

  /** The latest, if it was not answered as it should have been. */
  get trouble(): Reply | undefined {
    return this.last && isRetriable(this.last) ? this.last : undefined;
  }
}
