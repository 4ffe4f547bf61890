import { Acquisition, leavesNothing, type Obtained } from './acquisition.js';
import { readRenewal, readStatus, readUnlock, successBody } from './answers.js';
import { identityOf, keyBody, renewBody, unlockBody } from './bodies.js';
import {
  checkKey,
  checkOptions,
  checkOutcome,
  checkRenewal,
  checkRequest,
  checkTicket,
  checkWork,
} from './checks.js';
import { ClientParts } from './client-parts.js';
import { ClosedError, HoldfastError, HoldLostError, RefusedError } from './errors.js';
import { HeldLock, type Hold } from './hold.js';
import { type Key, keyName } from './key.js';
import { type KeyTurn } from './key-turn.js';
import { LockErrors } from './lock-errors.js';
import { type LockClientOptions, settingsOf } from './options.js';
import { ReferenceCalls } from './reference-calls.js';
import {
  type LockOptions,
  type LockRequest,
  type LockResult,
  type LockStatus,
  type Outcome,
  type TryLockResult,
  type UnlockResult,
} from './requests.js';
import { Runner, type RunResult, type Work } from './run-once.js';
import { type Session } from './session.js';
import { Tries } from './tries.js';
import { WaitEnd } from './wait-end.js';

/** Refusals which say that a hold is gone. */
const GONE: ReadonlySet<string> = new Set([
  'LOCK_NOT_FOUND',
  'STALE_TOKEN',
  'NOT_HOLDER',
  'SESSION_NOT_FOUND',
]);

/** What to do about a lock that is held: stand in line and wait, or only stand in line, or neither. */
type Patience = 'wait' | 'queue' | 'none';

/** One call for a lock. */
interface Ask {
  readonly request: LockRequest;
  /** Nobody waits for it any more. */
  readonly end: AbortSignal;
  readonly patience: Patience;
  readonly tries: Tries;
}

/**
 * A client of Holdfast: one node process, one session, any number of locks.
 *
 * A hold is reported lost before the server can give it to somebody else, as long as both clocks run at about the same
 * speed. Nothing prevents work from going on after that: heed `hold.signal`, and have the fencing token checked where
 * the result is stored. To the server all calls of a client are one asker; a second call for a key stands behind the
 * first.
 */
export class LockClient implements AsyncDisposable {
  /** Who asks. */
  readonly nodeId: string;
  /** Who uses what. */
  readonly refs: ReferenceCalls;
  private readonly parts: ClientParts;
  private readonly runner: Runner;
  private readonly errors = new LockErrors(() => this.identity);
  private closed: Promise<void> | undefined;

  constructor(options: LockClientOptions) {
    const settings = settingsOf(options);
    this.nodeId = settings.nodeId;
    this.parts = new ClientParts(settings);
    this.refs = new ReferenceCalls(this.parts.caller, settings.nodeId);
    const locks = {
      lock: (request: LockRequest, lockOptions: LockOptions, tries: Tries) =>
        this.obtain(request, lockOptions, tries),
      unlock: (hold: HeldLock, outcome: Outcome) => this.unlock(hold, outcome),
    };
    this.runner = new Runner(locks, settings.clock, this.errors);
  }

  /**
   * Waits until the lock is granted, skipped or refused, or the wait ends. Rejects only with the reason of an aborted
   * signal; everything else is told in the result.
   */
  lock(request: LockRequest, options: LockOptions = {}): Promise<LockResult> {
    return this.obtain(request, options, new Tries());
  }

  /** As `lock`, but is answered at once. `queued`: this client stands in line and keeps its place. */
  async tryLock(request: LockRequest): Promise<TryLockResult> {
    const wrong = complaint(() => checkRequest(request));
    if (wrong) return wrong;
    const turn = this.parts.turns.take(keyName(request));
    const ask = { request, end: this.parts.closing, patience: 'queue', tries: new Tries() } as const;
    if (turn) return this.acquire(ask, turn);
    return failed(this.errors.heldHere(request));
  }

  /**
   * Runs `work` under the lock, or reports that somebody else has done it. What the work throws is reported as failure and
   * thrown again. Equal calls that come while it is under way share one run, each with its own signal and `waitMs`.
   */
  async runOnce<T>(request: LockRequest, work: Work<T>, options: LockOptions = {}): Promise<RunResult<T>> {
    checkRequest(request);
    checkWork(work);
    checkOptions(options);
    return this.runner.run(request, work, options);
  }

  /** Rejects with `HoldLostError` if the hold is gone; then the outcome was not recorded. */
  async unlock(held: Hold | Key, outcome: Outcome): Promise<UnlockResult> {
    checkKey(held);
    checkOutcome(outcome);
    const { turns, sessions, unlocks } = this.parts;
    const turn = turns.get(keyName(held));
    const hold = held instanceof HeldLock ? held : turn?.hold;
    const session = hold?.session ?? sessions.current;
    const body = unlockBody(held, session?.identity ?? identityOf(this.nodeId), outcome, hold?.token);
    const request = { method: 'POST', path: '/unlock', body };
    if (hold?.isLost && outcome.success) throw hold.lossFor(request);
    hold?.settle();
    const ownTurn = hold && turn?.hold === hold ? turn : undefined;
    try {
      const result = readUnlock(await unlocks.call(body), request);
      if (ownTurn) turns.leave(ownTurn);
      return result;
    } catch (error) {
      if (hold && ownTurn) this.pass(ownTurn, hold.session, hold, error);
      throw hold ? this.lossOr(error, hold) : error;
    }
  }

  /** Extends the lease of a hold that was asked for with `leaseMs`. The session needs no help. */
  async renew(held: Hold, leaseMs?: number): Promise<void> {
    checkRenewal(held, leaseMs);
    const hold = held as HeldLock;
    const body = renewBody(hold, hold.session.identity, hold.token, leaseMs);
    const request = { method: 'POST', path: '/lock/renew', body };
    if (hold.isLost) throw hold.lossFor(request);
    try {
      const reply = await this.parts.renewals.call(body);
      const renewal = readRenewal(reply, request);
      hold.leaseFrom(reply.sentAtMs, renewal.leaseMs);
    } catch (error) {
      throw this.lossOr(error, hold);
    }
  }

  /** How a key stands. Asking claims a lock that was handed to this client. */
  async status(key: Key, ticket?: string): Promise<LockStatus> {
    checkKey(key);
    checkTicket(ticket);
    const body = keyBody(key, this.identity, ticket);
    const reply = await this.parts.caller.call('POST', '/lock/status', body);
    return readStatus(reply, { method: 'POST', path: '/lock/status', body });
  }

  /** Leaves the queue that `tryLock` has entered. */
  async cancel(key: Key, ticket?: string): Promise<void> {
    checkKey(key);
    checkTicket(ticket);
    const body = keyBody(key, this.identity, ticket);
    const reply = await this.parts.caller.call('POST', '/lock/cancel', body);
    successBody(reply, { method: 'POST', path: '/lock/cancel', body });
  }

  /** Gives up all it holds and waits for: holds are lost, waits end with `ClosedError`. */
  close(): Promise<void> {
    this.closed ??= this.parts.close();
    return this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private get identity(): string {
    return this.parts.sessions.current?.identity ?? identityOf(this.nodeId);
  }

  private obtain(request: LockRequest, options: LockOptions, tries: Tries): Promise<Obtained> {
    const wrong = complaint(() => {
      checkRequest(request);
      checkOptions(options);
    });
    if (wrong) return Promise.resolve(wrong);
    const { closing, clock } = this.parts;
    const { signal, waitMs = Infinity } = options;
    const patience = waitMs === 0 ? 'none' : 'wait';
    const isEndless = !signal && (waitMs === 0 || waitMs === Infinity);
    if (isEndless) return this.takeTurn({ request, end: closing, patience, tries });
    const end = new WaitEnd(request, options, closing, clock, this.errors, tries);
    const late = ({ hold }: Obtained) => hold && this.giveBack(hold);
    const taken = this.takeTurn({ request, end: end.signal, patience, tries });
    return end.race(taken, late).catch(failedOrThrow);
  }

  private takeTurn(ask: Ask): Promise<Obtained> {
    const turn = this.parts.turns.take(keyName(ask.request));
    return turn ? this.acquire(ask, turn) : this.awaitTurn(ask);
  }

  private async awaitTurn(ask: Ask): Promise<Obtained> {
    const { turns } = this.parts;
    const { request, end, patience, tries } = ask;
    const turn = patience === 'none' ? undefined : await turns.whenFree(keyName(request), end);
    if (turn) return this.acquire(ask, turn);
    if (end.aborted) return failedOrThrow(this.asOwn(end.reason, request));
    return failed(this.errors.timedOut(request, 0, tries));
  }

  /** The turn passes on at once unless the lock is held, or something may be left on the server. */
  private async acquire(ask: Ask, turn: KeyTurn): Promise<Obtained> {
    const { turns, looseEnds } = this.parts;
    const { request, end, patience, tries } = ask;
    const acquisition = new Acquisition(this.parts, request, turn, end, tries);
    try {
      if (looseEnds.has(turn.name)) await looseEnds.end(turn.name);
      const result = await (patience === 'wait' ? acquisition.untilSettled() : acquisition.once());
      if (result.queued && patience === 'none') return await this.leaveQueue(acquisition, ask, turn);
      if (!result.hold) turns.leave(turn);
      return result;
    } catch (error) {
      this.pass(turn, acquisition.session, request, error);
      return failedOrThrow(this.asOwn(error, request, acquisition.session));
    }
  }

  /** There is no asking without standing in line. */
  private async leaveQueue(
    { session }: Acquisition,
    { request, tries }: Ask,
    turn: KeyTurn,
  ): Promise<Obtained> {
    await this.parts.looseEnds.giveUp(session!, request, turn);
    return failed(this.errors.timedOut(request, 0, tries));
  }

  /** The reason of the closing is one for all; what a caller gets says what it had asked for. */
  private asOwn(error: unknown, request: LockRequest, session?: Session): unknown {
    const isEverybodys = error instanceof ClosedError && !error.request;
    return isEverybodys ? this.errors.closed(request, session?.identity) : error;
  }

  /** After an error: whatever may be left on the server is given up before the turn passes on. */
  private pass(turn: KeyTurn, session: Session | undefined, key: Key, error: unknown): void {
    if (session && !leavesNothing(error)) void this.parts.looseEnds.giveUp(session, key, turn);
    else this.parts.turns.leave(turn);
  }

  /** A hold that was granted when nobody wanted it any more. */
  private giveBack(hold: HeldLock): void {
    const turn = this.parts.turns.get(keyName(hold));
    hold.settle();
    if (turn?.hold === hold) void this.parts.looseEnds.giveUp(hold.session, hold, turn);
  }

  /** What an error means for a hold. */
  private lossOr(error: unknown, hold: HeldLock): unknown {
    if (!(error instanceof RefusedError) || !GONE.has(error.code)) return error;
    if (error.code === 'SESSION_NOT_FOUND') this.parts.sessions.lost(hold.session);
    const why = `the server does not know it any more (${error.fact})`;
    hold.lose(why);
    const { request, attempts } = error;
    return new HoldLostError(why, { request, attempts, cause: error });
  }
}

function failed(error: HoldfastError): Obtained {
  return { acquired: false, skipped: false, error };
}

function failedOrThrow(error: unknown): Obtained {
  if (error instanceof HoldfastError) return failed(error);
  throw error;
}

function complaint(check: () => void): Obtained | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return failedOrThrow(error);
  }
}
