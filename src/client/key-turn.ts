import { type HeldLock } from './hold.js';
import { type Doer } from './requests.js';
import { type Session } from './session.js';

/** Why a waiter looks up: something happened to its key, or nothing will be told any more. */
export type News = 'woken' | 'unheard';

/** The lock was handed to a wait of this session. */
export interface HandOver {
  readonly session: Session;
  readonly token: number;
}

/**
 * What this client does with one key: it asks for it, waits for it or holds it. To the server all calls of a client are
 * one asker, so a second call for the same key stands behind the first.
 */
export class KeyTurn {
  hold: HeldLock | undefined;
  doneBy: Doer | undefined;
  /** What was told since `listen`, unless something else has happened to the key after it. */
  handOver: HandOver | undefined;
  private news: News | undefined;
  private listener: ((news: News) => void) | undefined;

  constructor(readonly name: string) {}

  /** Whatever was told so far is covered by the request about to be sent. */
  listen(): void {
    this.news = undefined;
    this.handOver = undefined;
  }

  tell(news: News): void {
    if (this.news !== 'woken') this.news = news;
    this.listener?.(this.news);
  }

  /** What was told since `listen`, or the next thing that is. */
  heard(end: AbortSignal): Promise<News> {
    return new Promise((resolve) => {
      const over = (news: News) => {
        this.listener = undefined;
        if (news === 'unheard') this.news = undefined;
        end.removeEventListener('abort', onEnd);
        resolve(news);
      };
      const onEnd = () => over('woken');
      if (this.news !== undefined || end.aborted) return over(this.news ?? 'woken');
      this.listener = over;
      end.addEventListener('abort', onEnd);
    });
  }
}

/** So many that copying those that are left costs nothing, and so few that a table does not grow old: see `Bag`. */
const LEFT_PER_TABLE = 1024;

/** The turns of a client, one for each key. */
export class KeyTurns {
  private turns = new Map<string, KeyTurn>();
  private left = 0;
  private readonly behind = new Map<string, ((turn: KeyTurn) => void)[]>();

  get(name: string): KeyTurn | undefined {
    return this.turns.get(name);
  }

  /** `undefined`: another call has it. */
  take(name: string): KeyTurn | undefined {
    if (this.turns.has(name)) return undefined;
    const turn = new KeyTurn(name);
    this.turns.set(name, turn);
    return turn;
  }

  /** First come, first served. `undefined`: the end came first. */
  whenFree(name: string, end: AbortSignal): Promise<KeyTurn | undefined> {
    return new Promise((resolve) => {
      const queue = this.behind.get(name) ?? [];
      const onEnd = () => {
        queue.splice(queue.indexOf(onTurn), 1);
        resolve(undefined);
      };
      const onTurn = (turn: KeyTurn) => {
        end.removeEventListener('abort', onEnd);
        resolve(turn);
      };
      if (end.aborted) return resolve(undefined);
      queue.push(onTurn);
      this.behind.set(name, queue);
      end.addEventListener('abort', onEnd, { once: true });
    });
  }

  leave(turn: KeyTurn): void {
    const { name } = turn;
    if (this.turns.get(name) !== turn) return;
    this.turns.delete(name);
    this.renewTable();
    const queue = this.behind.get(name);
    const next = queue?.shift();
    if (queue?.length === 0) this.behind.delete(name);
    if (next) next(this.take(name)!);
  }

  tellAll(news: News): void {
    for (const turn of this.turns.values()) turn.tell(news);
  }

  names(): Iterable<string> {
    return this.turns.keys();
  }

  private renewTable(): void {
    if (++this.left < Math.max(LEFT_PER_TABLE, this.turns.size)) return;
    this.left = 0;
    this.turns = new Map(this.turns);
  }
}
