import { type LockAnswer, malformed, readLock } from './answers.js';
import { type Batcher } from './batcher.js';
import { lockBody } from './bodies.js';
import { type Clock } from './clock.js';
import { BadRequestError, HoldLostError, QueueFullError, RefusedError } from './errors.js';
import { HeldLock } from './hold.js';
import { type KeyTurn } from './key-turn.js';
import { type LooseEnds } from './loose-ends.js';
import { codeOf, type Reply } from './reply.js';
import { type LockRequest, type TryLockResult } from './requests.js';
import { onceStopped, type Session } from './session.js';
import { type SessionKeeper } from './session-keeper.js';
import { type Waiting } from './waiting.js';

/** A session may end under a request, and the next one too; more in a row is no accident. */
const MAX_LOST_SESSIONS = 3;

export interface AcquisitionParts {
  readonly sessions: SessionKeeper;
  readonly locks: Batcher;
  readonly waiting: Waiting;
  readonly clock: Clock;
  readonly looseEnds: LooseEnds;
}

/** A result as the client itself sees it. */
export type Obtained = TryLockResult & { readonly hold?: HeldLock };

/** One call of `lock` or `tryLock`, from the first question to the answer. */
export class Acquisition {
  /** The session that asked last: there the server may have something in this client's name. */
  session: Session | undefined;
  private ticket: string | undefined;

  constructor(
    private readonly parts: AcquisitionParts,
    private readonly request: LockRequest,
    private readonly turn: KeyTurn,
    private readonly end: AbortSignal,
  ) {
    this.ticket = request.ticket;
  }

  async once(): Promise<Obtained> {
    const answer = await this.ask();
    return this.resultOf(answer);
  }

  async untilSettled(): Promise<Obtained> {
    let answer = await this.ask();
    while (answer.kind === 'queued' || answer.kind === 'gone') {
      if (answer.kind === 'queued') this.ticket = answer.ticket;
      const reply = answer.kind === 'queued' ? await this.untilNews(answer.ticket) : undefined;
      answer = await this.ask(reply);
    }
    return this.resultOf(answer);
  }

  private untilNews(ticket: string): Promise<Reply | undefined> {
    const { request, turn, end } = this;
    return this.parts.waiting.untilNews({ request, session: this.session!, turn, ticket, end });
  }

  /** Asks, or takes the reply to a long poll that has asked already. Goes on in a new session where the old one is over. */
  private async ask(reply?: Reply): Promise<LockAnswer> {
    const { sessions } = this.parts;
    for (let lost = 0; ; lost++) {
      if (this.end.aborted) throw this.end.reason;
      const session = reply ? this.session! : (sessions.current ?? (await sessions.open()));
      this.session = session;
      const body = lockBody(this.request, session.identity, this.ticket);
      const answered = reply ?? (await this.send(body));
      if (codeOf(answered) === 'SESSION_NOT_FOUND' && lost < MAX_LOST_SESSIONS) {
        sessions.lost(session);
      } else {
        const answer = readLock(answered, { method: 'POST', path: '/lock', body });
        if (answer.kind === 'gone' && !reply) throw malformed(answered, undefined);
        if (answer.kind !== 'acquired') return answer;
        if (sessions.current === session) return this.granted(answer, session, answered.sentAtMs);
        if (lost === MAX_LOST_SESSIONS) throw new HoldLostError('its session ended while it was granted');
      }
      reply = undefined;
    }
  }

  private send(body: string): Promise<Reply> {
    this.turn.listen();
    return this.parts.locks.call(body, this.end);
  }

  private granted(answer: LockAnswer & { kind: 'acquired' }, session: Session, sentAtMs: number): LockAnswer {
    const { type, resourceId } = this.request;
    const { clock, looseEnds } = this.parts;
    const { turn } = this;
    const onLost = (lost: HeldLock) =>
      onceStopped(clock, session, () => void looseEnds.giveUp(session, lost, turn));
    const hold = new HeldLock(type, resourceId, answer.token, session, clock, onLost);
    turn.hold = hold;
    if (answer.leaseMs > 0) hold.leaseFrom(sentAtMs, answer.leaseMs);
    return answer;
  }

  private resultOf(answer: LockAnswer): Obtained {
    const { hold, doneBy } = this.turn;
    const { message } = answer;
    if (answer.kind === 'acquired' && hold)
      return { acquired: true, skipped: false, hold, message, isolation: answer.isolation };
    if (answer.kind === 'skipped')
      return { acquired: false, skipped: true, message, ...(doneBy && { doneBy }) };
    const { position, ticket } = answer as LockAnswer & { kind: 'queued' };
    return { acquired: false, skipped: false, message, queued: { position, ticket } };
  }
}

const LEAVING_NOTHING = [RefusedError, QueueFullError, BadRequestError];

/** After these the server has nothing in this client's name. */
export function leavesNothing(error: unknown): boolean {
  return LEAVING_NOTHING.some((type) => error instanceof type);
}
