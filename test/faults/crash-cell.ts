import { pick, type Random } from '../support/random.js';
import { type Reply, type ServerProcess } from '../support/server-process.js';
import {
  type CellAsker,
  type CellState,
  EMPTY_CELL,
  nameOf,
  passedOn,
  sameAsker,
  withoutWaiter,
} from './crash-cell-state.js';

const NODES = ['a', 'b', 'c', 'd'];

/** One request: what it makes of the cell, and what its answer proves. */
interface Deed {
  readonly method?: 'DELETE';
  readonly path: string;
  readonly body?: object;
  readonly after: CellState;
  /** Notes what the request promises once it is done. */
  readonly done: () => void;
  /** Notes what the answer says; gives what is wrong with it. */
  readonly answered?: (body: Record<string, unknown>) => string | undefined;
}

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
  /** Of waits that a success has ended, newest first. */
  skips: { readonly node: string; readonly ticket: string }[] = [];
  lastRelease: LastRelease | undefined;
  readonly sessions = new Map<string, string>();
  wrong: string[] = [];

  constructor(
    readonly server: ServerProcess,
    readonly id: string,
    private readonly random: Random,
  ) {}

  /** Until the server is gone. */
  async work(): Promise<void> {
    for (;;) {
      const deed = this.nextDeed();
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
    if (!hold) return 'a token for nothing';
    const known = hold.token;
    this.state = { ...this.state, hold: { ...hold, token } };
    if (known === token) return undefined;
    const older = known !== undefined || token <= this.newestToken;
    this.newestToken = Math.max(this.newestToken, token);
    return older ? `token ${token} after ${this.newestToken}` : undefined;
  }

  private nextDeed(): Deed {
    const { hold, queue, references } = this.state;
    const chance = this.random();
    if (hold && chance < 0.12) return this.release('');
    if (hold && chance < 0.3) return this.release('failed');
    if (hold && chance < 0.4) return this.renew();
    if (queue.length > 0 && chance < 0.45) return this.cancel(pick(this.random, queue).asker);
    if (chance < 0.55) return this.addReference(references.length > 0 && this.random() < 0.5);
    if (references.length > 0 && chance < 0.62) return this.releaseReference(pick(this.random, references));
    if (chance < 0.66) return this.session(pick(this.random, NODES));
    return this.lock();
  }

  private lock(): Deed {
    const node = pick(this.random, NODES);
    const session = this.random() < 0.5 ? this.sessions.get(node) : undefined;
    const asker: CellAsker = session === undefined ? { node } : { node, session };
    const leaseMs = 600_000 + Math.floor(this.random() * 1000);
    const deed = { path: '/lock', body: this.asked(asker) };
    const name = nameOf(asker);
    if (this.holds(asker)) {
      return {
        ...deed,
        after: this.state,
        done: () => {},
        answered: ({ token }) => this.noteToken(Number(token)),
      };
    }
    if (this.dismissed.has(name)) {
      const done = () => void this.dismissed.delete(name);
      return {
        ...deed,
        after: this.state,
        done,
        answered: ({ skip }) => (skip === true ? undefined : 'no skip'),
      };
    }
    if (this.waits(asker)) {
      const answered = ({ ticket }: Record<string, unknown>) =>
        ticket === this.tickets.get(name) ? undefined : 'another ticket';
      return { ...deed, after: this.state, done: () => {}, answered };
    }
    const body = this.asked(asker, { lease_ms: leaseMs });
    if (!this.state.hold) {
      const after = { ...this.state, hold: { asker, leaseMs, token: undefined } };
      const answered = ({ token }: Record<string, unknown>) => this.noteToken(Number(token));
      return { ...deed, body, after, done: () => this.granted(asker), answered };
    }
    const after = { ...this.state, queue: [...this.state.queue, { asker, leaseMs }] };
    const answered = ({ ticket, position }: Record<string, unknown>) => {
      this.tickets.set(name, String(ticket));
      return position === after.queue.length ? undefined : 'another position';
    };
    return { ...deed, body, after, done: () => {}, answered };
  }

  private release(error: string): Deed {
    const { asker } = this.state.hold!;
    const { queue } = this.state;
    const after = error === '' ? { ...this.state, hold: undefined, queue: [] } : passedOn(this.state);
    const nextHolder = after.hold?.asker.node;
    const done = () => {
      this.lastRelease = { asker, error, nextHolder };
      if (error === '') this.dismiss(queue.map((waiter) => waiter.asker));
      if (after.hold) this.granted(after.hold.asker);
    };
    const answered = ({ next_holder }: Record<string, unknown>) =>
      next_holder === nextHolder ? undefined : 'another next holder';
    return { path: '/unlock', body: this.asked(asker, { error }), after, done, answered };
  }

  private renew(): Deed {
    const hold = this.state.hold!;
    const leaseMs = 700_000 + Math.floor(this.random() * 1000);
    const after = { ...this.state, hold: { ...hold, leaseMs } };
    const body = this.asked(hold.asker, { lease_ms: leaseMs });
    return {
      path: '/lock/renew',
      body,
      after,
      done: () => {},
      answered: ({ token }) => this.noteToken(Number(token)),
    };
  }

  private cancel(asker: CellAsker): Deed {
    const done = () => void this.tickets.delete(nameOf(asker));
    return { path: '/lock/cancel', body: this.asked(asker), after: withoutWaiter(this.state, asker), done };
  }

  /** By itself, or by a pull that is skipped because others have the resource. */
  private addReference(byPull: boolean): Deed {
    const node = pick(this.random, NODES);
    const references = [...new Set([...this.state.references, node])];
    const after = { ...this.state, references };
    const body = { type: 'pull', resource_id: this.id, node_id: node };
    const answered = ({ skip, count }: Record<string, unknown>) =>
      (byPull ? skip === true : count === references.length) ? undefined : 'not counted';
    return { path: byPull ? '/lock' : '/refcounts/add', body, after, done: () => {}, answered };
  }

  private releaseReference(node: string): Deed {
    const references = this.state.references.filter((other) => other !== node);
    const body = { resource_id: this.id, node_id: node };
    return { path: '/refcounts/release', body, after: { ...this.state, references }, done: () => {} };
  }

  /** Opens one, or ends the one there is: its hold fails or its wait is withdrawn, then it is forgotten. */
  private session(node: string): Deed {
    const session = this.sessions.get(node);
    if (session === undefined) {
      const answered = ({ session_id }: Record<string, unknown>) =>
        void this.sessions.set(node, String(session_id));
      return {
        path: '/sessions',
        body: { node_id: node, ttl_ms: 600_000 },
        after: this.state,
        done: () => {},
        answered,
      };
    }
    const asker = { node, session };
    const after = this.holds(asker) ? passedOn(this.state) : withoutWaiter(this.state, asker);
    const done = () => {
      this.sessions.delete(node);
      this.dismissed.delete(nameOf(asker));
      if (this.state.hold) this.granted(this.state.hold.asker);
    };
    return { method: 'DELETE', path: `/sessions/${session}`, after, done };
  }

  private granted(asker: CellAsker): void {
    this.tickets.delete(nameOf(asker));
    if (this.lastRelease && sameAsker(this.lastRelease.asker, asker)) this.lastRelease = undefined;
  }

  private dismiss(askers: readonly CellAsker[]): void {
    for (const asker of askers) {
      const ticket = this.tickets.get(nameOf(asker));
      if (ticket !== undefined) this.skips.unshift({ node: asker.node, ticket });
      this.tickets.delete(nameOf(asker));
      this.dismissed.set(nameOf(asker), asker);
    }
    this.skips.length = Math.min(this.skips.length, 4);
  }
}
