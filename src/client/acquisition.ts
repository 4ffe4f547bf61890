import { type LockAnswer, malformed, type QueuedAnswer, readLock } from './answers.js';
import { type Batcher, type Wanted } from './batcher.js';
import { lockBody } from './bodies.js';
import { type Caller } from './caller.js';
import { claimTimes } from './claim-times.js';
import { type Clock } from './clock.js';
import { BadRequestError, HoldLostError, QueueFullError, RefusedError } from './errors.js';
import { HeldLock } from './hold.js';
import { loseIfGone } from './hold-check.js';
import { type KeyTurn } from './key-turn.js';
import { type LooseEnds } from './loose-ends.js';
import { attemptsOf, codeOf, type Reply } from './reply.js';
import { type LockRequest, type TryLockResult } from './requests.js';
import { onceStopped, type Session } from './session.js';
import { type SessionKeeper } from './session-keeper.js';
import { type Tries } from './tries.js';
import { type Waiting } from './waiting.js';

/** A session may end under a request, and the next one too; more in a row is no accident. */
const MAX_LOST_SESSIONS = 3;

export interface AcquisitionParts {
  readonly sessions: SessionKeeper;
  readonly locks: Batcher;
  readonly waiting: Waiting;
  readonly clock: Clock;
  readonly caller: Caller;
  readonly looseEnds: LooseEnds;
}

/** A result as the client itself sees it. */
export type Obtained = TryLockResult & { readonly hold?: HeldLock };

/** One call of `lock` or `tryLock`, from the first question to the answer. */
export class Acquisition implements Wanted {
  /** The session that asked last: there the server may have something in this client's name. */
  session: Session | undefined;
  private ticket: string | undefined;
  /** When the request was sent that was answered last. */
  private sentAtMs = -Infinity;

  constructor(
    private readonly parts: AcquisitionParts,
    private readonly request: LockRequest,
    private readonly turn: KeyTurn,
    private readonly end: AbortSignal,
    private readonly tries: Tries,
  ) {
    this.ticket = request.ticket;
  }

  /** Nobody waits for it any more. */
  get aborted(): boolean {
    return this.end.aborted;
  }

  tried(reply: Reply): void {
    this.tries.note(reply);
  }

  async once(): Promise<Obtained> {
    const answer = await this.ask();
    return this.resultOf(answer);
  }

  async untilSettled(): Promise<Obtained> {
    let answer = await this.ask();
    while (answer.kind === 'queued' || answer.kind === 'gone') {
      answer = answer.kind === 'queued' ? await this.untilServed(answer) : await this.ask();
    }
    return this.resultOf(answer);
  }

  private async untilServed(queued: QueuedAnswer): Promise<LockAnswer> {
    this.ticket = queued.ticket;
    const reply = await this.untilNews(queued.ticket);
    return this.handedOver(queued) ?? (await this.ask(reply));
  }

  private untilNews(ticket: string): Promise<Reply | undefined> {
    const { request, turn, end, tries } = this;
    return this.parts.waiting.untilNews({ request, session: this.session!, turn, ticket, end, tries });
  }

  /** Asks, or takes the reply to a long poll that has asked already. Goes on in a new session where the old one is over. */
  private async ask(reply?: Reply): Promise<LockAnswer> {
    const { sessions } = this.parts;
    for (let lost = 0; ; lost++) {
      if (this.end.aborted) throw this.end.reason;
      const session = reply ? this.session! : (sessions.current ?? (await sessions.open(this.tries)));
      if (this.end.aborted) throw this.end.reason;
      this.session = session;
      const body = lockBody(this.request, session.identity, this.ticket);
      const answered = reply ?? (await this.send(body));
      if (codeOf(answered) === 'SESSION_NOT_FOUND' && lost < MAX_LOST_SESSIONS) {
        sessions.lost(session);
      } else {
        this.sentAtMs = answered.sentAtMs;
        const asked = { method: 'POST', path: '/lock', body };
        const answer = readLock(answered, asked);
        if (answer.kind === 'gone' && !reply) throw malformed(answered, asked);
        if (answer.kind !== 'acquired') return answer;
        // A lease began at an unknown time while the long poll waited; asking again begins it anew.
        const isDated = !reply || answer.leaseMs === 0;
        if (isDated && sessions.current === session) {
          const hold = this.granted(answer.token, session);
          if (answer.leaseMs > 0) hold.leaseFrom(answered.sentAtMs, answer.leaseMs);
          return answer;
        }
        if (lost === MAX_LOST_SESSIONS) {
          const details = { request: asked, attempts: attemptsOf(answered) };
          throw new HoldLostError('its session ended while it was granted', details);
        }
      }
      reply = undefined;
    }
  }

  private send(body: string): Promise<Reply> {
    this.turn.listen();
    return this.parts.locks.call(body, this);
  }

  /**
   * The lock, where the stream has told that this very wait was given it: what was told of an earlier wait has a token older
   * than the ticket. A lease would have begun at an unknown time, so that the server is asked for it.
   */
  private handedOver({ ticket, isolation, referenceCount }: QueuedAnswer): LockAnswer | undefined {
    const { turn, session, request, end } = this;
    const { handOver } = turn;
    const { clock, sessions, caller } = this.parts;
    if (!handOver || handOver.session !== session || end.aborted || sessions.current !== session) return;
    const isThisWait = handOver.token >= revisionOf(ticket);
    if (!isThisWait || (request.leaseMs ?? Infinity) !== Infinity) return;
    const times = claimTimes(session, this.sentAtMs, clock.monotonicMs());
    if (!times) return;
    const { token } = handOver;
    this.granted(token, session).handedOver(times, (hold) => void loseIfGone(hold, caller));
    return { kind: 'acquired', token, leaseMs: 0, message: 'lock acquired', isolation, referenceCount };
  }

  private granted(token: number, session: Session): HeldLock {
    const { type, resourceId } = this.request;
    const { clock, looseEnds } = this.parts;
    const { turn } = this;
    const onLost = (lost: HeldLock) =>
      onceStopped(clock, session, () => void looseEnds.giveUp(session, lost, turn));
    turn.hold = new HeldLock(type, resourceId, token, session, clock, onLost);
    return turn.hold;
  }

  private resultOf(answer: LockAnswer): Obtained {
    const { hold, doneBy } = this.turn;
    const { message } = answer;
    if (answer.kind === 'acquired' && hold) {
      const { isolation, referenceCount } = answer;
      return { acquired: true, skipped: false, hold, message, isolation, referenceCount };
    }
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

/** Of the moment of queueing, with which a ticket begins. */
function revisionOf(ticket: string): number {
  return Number.parseInt(ticket, 10);
}
