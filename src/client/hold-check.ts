import { readStatus } from './answers.js';
import { keyBody } from './bodies.js';
import { type Caller } from './caller.js';
import { type HeldLock } from './hold.js';

const PATH = '/lock/status';

/** Asks the server whether it still knows the hold, which claims it. Without an answer nothing is known; the session sees to that. */
export async function loseIfGone(hold: HeldLock, caller: Caller): Promise<void> {
  const body = keyBody(hold, hold.session.identity);
  try {
    const reply = await caller.call('POST', PATH, body, { isApart: true });
    const { acquired, holder } = readStatus(reply, { method: 'POST', path: PATH, body });
    if (acquired && holder?.token === hold.token) hold.claimed();
    else hold.lose('the server has taken it away');
  } catch {
    return;
  }
}
