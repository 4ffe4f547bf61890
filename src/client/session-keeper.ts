import { readSession } from './answers.js';
import { identityOf } from './bodies.js';
import { type Caller } from './caller.js';
import { type CancelTimer, type Clock } from './clock.js';
import { BadRequestError, ClosedError, type ErrorDetails } from './errors.js';
import { attemptsOf, codeOf, isRetriable } from './reply.js';
import { onceStopped, Session } from './session.js';
import { type Sender } from './transport.js';
import { type Tries } from './tries.js';

export interface SessionSettings {
  readonly serverUrls: readonly URL[];
  readonly nodeId: string;
  readonly sessionTtlMs: number | undefined;
  readonly stopWithinMs?: number;
  readonly clock: Clock;
}

export interface SessionListener {
  /** It was renewed: the server is there. */
  renewed(session: Session): void;
  /** It is over, and all it held and waited for with it. */
  lost(session: Session): void;
}

/** The part of a time to live after which it is renewed; one try may take as long. */
const RENEW_AFTER = 1 / 3;

/** From one try to the next until one is answered, whatever became of those before. */
const TRY_EVERY = 1 / 12;

/** The part of a time to live that stopping may take: what is left must do for a renewal. */
const STOP_SHARE = 1 / 2;

/** Without an answer the session ends by itself. */
const CLOSE_WITHIN_MS = 5000;

/**
 * The one session of a client: opened when first needed, renewed at a third of its time to live, given up when the
 * server has forgotten it or may have. Then the next call opens another.
 */
export class SessionKeeper {
  /** As the server said when it last opened one. */
  parallelBatches = 1;
  private session: Session | undefined;
  private opening: Promise<Session> | undefined;
  /** Of those who wait for it. */
  private readonly tries = new Set<Tries>();
  private cancelTimers: CancelTimer[] = [];
  private readonly clock: Clock;
  private closedBy: ClosedError | undefined;
  private readonly refusals = new Set<(error: ClosedError) => void>();

  constructor(
    private readonly settings: SessionSettings,
    private readonly caller: Caller,
    private readonly transport: Sender,
    private readonly listener: SessionListener,
  ) {
    this.clock = settings.clock;
  }

  /** The session, if there is one that is certainly valid. */
  get current(): Session | undefined {
    const { session } = this;
    if (session && this.clock.monotonicMs() >= session.validUntilMs) this.expire(session);
    return this.session;
  }

  /** Calls that come together share one. */
  open(tries: Tries): Promise<Session> {
    this.tries.add(tries);
    this.opening ??= this.create().finally(() => {
      this.opening = undefined;
      this.tries.clear();
    });
    return this.unlessClosed(this.opening);
  }

  private unlessClosed(opening: Promise<Session>): Promise<Session> {
    return new Promise((resolve, reject) => {
      if (this.closedBy) return reject(this.closedBy);
      this.refusals.add(reject);
      void opening.then(resolve, reject).finally(() => this.refusals.delete(reject));
    });
  }

  /** Tells, too, whether the server still knows it. */
  async renew(session: Session): Promise<void> {
    const timeoutMs = session.ttlMs * RENEW_AFTER;
    const reply = await this.transport.send('POST', `${pathOf(session)}/renew`, '{}', {
      timeoutMs,
      isApart: true,
    });
    if (this.current !== session) return;
    if (codeOf(reply) === 'SESSION_NOT_FOUND') return this.lost(session);
    if (reply.status !== 200 || !session.renewedBy(reply.sentAtMs)) return;
    this.schedule(session, reply.sentAtMs);
    this.listener.renewed(session);
  }

  /** The server does not know it any more. */
  lost(session: Session, why = 'the server has ended the session'): void {
    if (this.session !== session) return;
    this.stop();
    this.session = undefined;
    session.isOver = true;
    session.loseHolds(why);
    this.listener.lost(session);
  }

  /** Ends it on the server too. Also one that is just being opened. */
  async close(): Promise<void> {
    this.closedBy = new ClosedError();
    for (const refuse of this.refusals) refuse(this.closedBy);
    const session = this.session ?? (await this.opened());
    if (!session) return;
    this.lost(session, 'the client was closed');
    await this.endSoon(session);
  }

  /** Each server is asked once until one can do it: somebody waits for this. */
  private async endSoon(session: Session): Promise<void> {
    const { length } = this.settings.serverUrls;
    const timeoutMs = CLOSE_WITHIN_MS / length;
    for (let tries = 0; tries < length; tries++) {
      const reply = await this.transport.send('DELETE', pathOf(session), undefined, {
        timeoutMs,
        isApart: true,
      });
      if (!isRetriable(reply)) return;
    }
  }

  /** The session that is being opened, if it is in time. */
  private opened(): Promise<Session | undefined> {
    return new Promise((resolve) => {
      const cancel = this.clock.after(CLOSE_WITHIN_MS, () => resolve(undefined), true);
      const opening = this.opening ?? Promise.resolve(undefined);
      void opening
        .catch(() => undefined)
        .finally(cancel)
        .then(resolve);
    });
  }

  private async create(): Promise<Session> {
    const { nodeId, sessionTtlMs, stopWithinMs } = this.settings;
    const body = JSON.stringify({ node_id: nodeId, ttl_ms: sessionTtlMs });
    const request = { method: 'POST', path: '/sessions', body };
    const reply = await this.caller.call('POST', '/sessions', body, { tries: this.tries });
    const { sessionId, ttlMs, parallelBatches } = readSession(reply, request);
    this.parallelBatches = parallelBatches;
    const identity = identityOf(nodeId, sessionId);
    const session = new Session(sessionId, ttlMs, identity, reply.sentAtMs, stopWithinMs);
    if (session.stopWithinMs > ttlMs * STOP_SHARE)
      throw this.refused(session, { request, attempts: attemptsOf(reply) });
    this.session = session;
    this.schedule(session, reply.sentAtMs);
    return session;
  }

  /** It would be lost before it could be renewed, again and again. */
  private refused(session: Session, details: ErrorDetails): BadRequestError {
    this.endOnServer(session);
    const { stopWithinMs, ttlMs } = session;
    const why = `stopWithinMs (${stopWithinMs}) may be at most half of the session's time to live (${ttlMs} ms).`;
    return new BadRequestError('STOP_WITHIN_TOO_LONG', why, details);
  }

  private endOnServer(session: Session): void {
    this.caller.call('DELETE', pathOf(session)).catch(() => undefined);
  }

  /** The next renewal, and the end if none is answered. */
  private schedule(session: Session, sentAtMs: number): void {
    this.stop();
    const now = this.clock.monotonicMs();
    this.after(sentAtMs + session.ttlMs * RENEW_AFTER - now, () => this.keepRenewing(session));
    this.after(session.validUntilMs - now, () => void this.current);
  }

  private keepRenewing(session: Session): void {
    this.after(session.ttlMs * TRY_EVERY, () => this.keepRenewing(session));
    void this.renew(session);
  }

  /** It may be alive on the server, with all it holds: it is ended there, or ends by itself for want of renewals. */
  private expire(session: Session): void {
    this.lost(session, 'the session was not renewed in time');
    onceStopped(this.clock, session, () => this.endOnServer(session));
  }

  private after(delayMs: number, callback: () => void): void {
    this.cancelTimers.push(this.clock.after(Math.max(0, delayMs), callback, true));
  }

  private stop(): void {
    for (const cancel of this.cancelTimers.splice(0)) cancel();
  }
}

function pathOf({ id }: Session): string {
  return `/sessions/${encodeURIComponent(id)}`;
}
