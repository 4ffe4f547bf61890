import { type Random } from '../support/random.js';
import { type Reply, type ServerProcess } from '../support/server-process.js';
import { CellDeeds } from './crash-cell-deeds.js';
import { type CellAsker, type CellState, EMPTY_CELL, nameOf, sameAsker } from './crash-cell-state.js';

export interface LastRelease {
  readonly asker: CellAsker;
  readonly error: string;
  readonly nextHolder: unknown;
}

/**
 * A resource that one worker has for itself: it makes one request at a time, so that it knows what must be true when
 * the server dies, but for the request under way, which was done whole or not at all.
 */
export class Cell {
  state: CellState = EMPTY_CELL;
  /** What the last request would have made of it, when it had no answer. */
  unanswered: { readonly state: CellState; readonly done: () => void } | undefined;
  newestToken = 0;
  readonly tickets = new Map<string, string>();
  readonly dismissed = new Map<string, CellAsker>();
  /** Were dismissed, and asked without getting an answer: perhaps they have been told. */
  readonly doubtful = new Set<string>();
  /** Of waits that a success has ended, newest first. */
  skips: { readonly node: string; readonly ticket: string }[] = [];
  lastRelease: LastRelease | undefined;
  readonly sessions = new Map<string, string>();
  wrong: string[] = [];
  private readonly deeds: CellDeeds;

  constructor(
    readonly server: ServerProcess,
    readonly id: string,
    random: Random,
  ) {
    this.deeds = new CellDeeds(this, random);
  }

  /** Until the server is gone. */
  async work(): Promise<void> {
    for (;;) {
      const deed = this.deeds.next();
      let reply: Reply;
      try {
        reply = await this.server.call(deed.method ?? 'POST', deed.path, deed.body);
      } catch {
        this.unanswered = { state: deed.after, done: deed.done };
        return;
      }
      const before = this.state;
      this.state = deed.after;
      deed.done();
      const problem = reply.status === 200 ? deed.answered?.(reply.body) : 'refused';
      if (problem) this.wrong.push(`${this.id} ${problem}: ${JSON.stringify({ deed, reply, before })}`);
    }
  }

  asked(asker: CellAsker, more: object = {}): object {
    const { node: node_id, session: session_id } = asker;
    return { type: 'update', resource_id: this.id, node_id, session_id, ...more };
  }

  holds(asker: CellAsker): boolean {
    return this.state.hold !== undefined && sameAsker(this.state.hold.asker, asker);
  }

  waits(asker: CellAsker): boolean {
    return this.state.queue.some((waiter) => sameAsker(waiter.asker, asker));
  }

  /** A token was told; it must be newer than every other, or the one the asker has already. */
  noteToken(token: number): string | undefined {
    const { hold } = this.state;
    if (!hold || !Number.isSafeInteger(token)) return 'no token';
    const known = hold.token;
    this.state = { ...this.state, hold: { ...hold, token } };
    if (known === token) return undefined;
    const older = known !== undefined || token <= this.newestToken;
    this.newestToken = Math.max(this.newestToken, token);
    return older ? `token ${token} after ${this.newestToken}` : undefined;
  }

  granted(asker: CellAsker): void {
    this.tickets.delete(nameOf(asker));
    if (this.lastRelease && sameAsker(this.lastRelease.asker, asker)) this.lastRelease = undefined;
  }

  dismiss(askers: readonly CellAsker[]): void {
    for (const asker of askers) {
      const ticket = this.tickets.get(nameOf(asker));
      if (ticket !== undefined) this.skips.unshift({ node: asker.node, ticket });
      this.tickets.delete(nameOf(asker));
      this.dismissed.set(nameOf(asker), asker);
    }
    this.skips.length = Math.min(this.skips.length, 4);
  }
}
