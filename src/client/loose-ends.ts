import { readStatus } from './answers.js';
import { type Batcher } from './batcher.js';
import { keyBody, unlockBody } from './bodies.js';
import { type Caller } from './caller.js';
import { type Key } from './key.js';
import { type KeyTurn, type KeyTurns } from './key-turn.js';
import { errorOf, type Reply } from './reply.js';
import { type Session } from './session.js';

const UNWANTED = { success: false, error: 'the client does not want it any more' } as const;

/** A hold has its token; what may be a wait, or a hold whose grant was not heard, has none. */
type Unwanted = Key & { readonly token?: number };

/**
 * What may be left on the server when nobody here wants it any more: a wait, or a hold whose grant was on its way. Each
 * is given up there; what cannot be now is tried again whenever the session was renewed, and before the key is asked for
 * again. It ends with the session at the latest.
 *
 * Nothing is released but by its token: a release may arrive late, and must not end a later hold of this client.
 */
export class LooseEnds {
  private readonly left = new Map<string, { readonly session: Session; readonly what: Unwanted }>();

  constructor(
    private readonly unlocks: Batcher,
    private readonly caller: Caller,
    private readonly turns: KeyTurns,
  ) {}

  /** Only while the key's turn is this one, which passes on when it is given up or left for later. */
  async giveUp(session: Session, what: Unwanted, turn: KeyTurn): Promise<void> {
    const { name } = turn;
    if (this.turns.get(name) !== turn) return;
    if (!session.isOver) {
      this.left.set(name, { session, what });
      await this.end(name).catch(() => undefined);
    }
    this.turns.leave(turn);
  }

  /** Whether something of this key is left. */
  has(name: string): boolean {
    return this.left.has(name);
  }

  /** Ends what was left of a key; rejects if that is not certain. */
  async end(name: string): Promise<void> {
    const end = this.left.get(name);
    if (!end) return;
    const { session, what } = end;
    const token = what.token ?? (await this.tokenOf(session, what));
    if (token !== undefined) await this.release(session, what, token);
    if (this.left.get(name) === end) this.left.delete(name);
  }

  /** A key that is in use again is left to its user. */
  tryAgain(session: Session): void {
    for (const [name, { session: itsSession, what }] of this.left) {
      const turn = itsSession === session ? this.turns.take(name) : undefined;
      if (turn) void this.giveUp(session, what, turn);
    }
  }

  /** Its session is over, and with it whatever was left. */
  forget(session: Session): void {
    for (const [name, end] of this.left) if (end.session === session) this.left.delete(name);
  }

  /** Of a hold that nobody here knows. Once the queue is left, nothing can be granted any more. */
  private async tokenOf(session: Session, key: Key): Promise<number | undefined> {
    const body = keyBody(key, session.identity);
    answered(await this.caller.call('POST', '/lock/cancel', body), '/lock/cancel', body);
    const reply = await this.caller.call('POST', '/lock/status', body);
    if (reply.status === 403) return undefined;
    const { acquired, holder } = readStatus(reply, { method: 'POST', path: '/lock/status', body });
    return acquired ? holder?.token : undefined;
  }

  private async release(session: Session, key: Key, token: number): Promise<void> {
    const body = unlockBody(key, session.identity, UNWANTED, token);
    answered(await this.unlocks.call(body), '/unlock', body);
  }
}

/** Done, or refused because there is nothing. */
function answered(reply: Reply, path: string, body: string): void {
  if (reply.status !== 200 && reply.status !== 403) throw errorOf(reply, { method: 'POST', path, body });
}
