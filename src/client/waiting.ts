import { readStatus } from './answers.js';
import { keyBody, lockBody } from './bodies.js';
import { type Caller } from './caller.js';
import { type Clock, pause } from './clock.js';
import { type KeyTurn } from './key-turn.js';
import { isRecord, type Reply } from './reply.js';
import { type LockRequest } from './requests.js';
import { type Session } from './session.js';
import { type SessionStream } from './session-stream.js';
import { type Sender } from './transport.js';
import { type Tries } from './tries.js';

/** Proxies cut silent requests after 30 s or more. */
const LONG_POLL_MS = 20_000;

/** How much later than asked a long poll may be answered. */
const LONG_POLL_GRACE_MS = 5000;

/** After a long poll that broke, polls are short for this long. */
const AFTER_BROKEN_POLL_MS = 30_000;

const POLL_INTERVAL_MS = 500;

export interface Wait {
  readonly request: LockRequest;
  readonly session: Session;
  readonly turn: KeyTurn;
  readonly ticket: string;
  /** Nobody waits any more. */
  readonly end: AbortSignal;
  readonly tries: Tries;
}

/**
 * Waits until there is reason to ask again: by the session's stream; where that is not heard, by a long poll, which
 * may bring the answer itself; where that breaks too, by looking every half second.
 */
export class Waiting {
  private longPollsAgainMs = -Infinity;

  constructor(
    private readonly stream: SessionStream,
    private readonly caller: Caller,
    private readonly transport: Sender,
    private readonly clock: Clock,
  ) {}

  /** The reply to a long poll, or `undefined`: ask again. */
  async untilNews(wait: Wait): Promise<Reply | undefined> {
    const { session, turn, end } = wait;
    while (!end.aborted) {
      if (await this.stream.isHeard(session)) {
        if ((await turn.heard(end)) === 'woken') return undefined;
      } else if (this.clock.monotonicMs() >= this.longPollsAgainMs) {
        return this.longPoll(wait);
      } else {
        await pause(this.clock, POLL_INTERVAL_MS, end);
        if (end.aborted || !(await this.isStillQueued(wait))) return undefined;
      }
    }
    return undefined;
  }

  /**
   * A wait whose long poll broke may have left the queue: it is asked again with its ticket. One that is refused for its
   * length (`MAX_WAIT_MS`) or frequency is as good as broken, and so is one that is answered with no news at once: asking
   * again without a pause would never end.
   */
  private async longPoll({ request, session, ticket, end, tries }: Wait): Promise<Reply | undefined> {
    const body = lockBody(request, session.identity, ticket, LONG_POLL_MS);
    const timeoutMs = LONG_POLL_MS + LONG_POLL_GRACE_MS;
    const reply = await this.transport.send('POST', '/lock', body, { timeoutMs, signal: end, isApart: true });
    tries.note(reply);
    if (end.aborted || isNews(reply)) return reply;
    const isInTime = reply.status === 200 && reply.ms >= POLL_INTERVAL_MS;
    if (!isInTime) this.longPollsAgainMs = this.clock.monotonicMs() + AFTER_BROKEN_POLL_MS;
    return reply.status === 200 ? reply : undefined;
  }

  private async isStillQueued({ request, session, ticket, end, tries }: Wait): Promise<boolean> {
    const body = keyBody(request, session.identity, ticket);
    const asked = { method: 'POST', path: '/lock/status', body };
    const reply = await this.caller.call('POST', '/lock/status', body, { signal: end, tries: [tries] });
    return readStatus(reply, asked).position !== undefined;
  }
}

/** Granted, skipped or refused. */
function isNews({ status, body }: Reply): boolean {
  if (status !== 200 || !isRecord(body)) return status === 403;
  return body['acquired'] !== false || body['skip'] !== false;
}
