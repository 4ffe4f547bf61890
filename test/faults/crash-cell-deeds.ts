import { pick, type Random } from '../support/random.js';
import { type Cell } from './crash-cell.js';
import {
  type CellAsker,
  type CellState,
  type CellWaiter,
  nameOf,
  passedOn,
  withoutWaiter,
} from './crash-cell-state.js';

const NODES = ['a', 'b', 'c', 'd'];

/** One request: what it makes of the cell, and what its answer proves. */
export interface Deed {
  readonly method?: 'DELETE';
  readonly path: string;
  readonly body?: object;
  readonly after: CellState;
  /** Notes what the request promises once it is done. */
  readonly done: () => void;
  /** Notes what the answer says; gives what is wrong with it. */
  readonly answered?: (body: Record<string, unknown>) => string | undefined;
}

/** Thinks up the requests of a cell, from what the cell knows. */
export class CellDeeds {
  constructor(
    private readonly cell: Cell,
    private readonly random: Random,
  ) {}

  next(): Deed {
    const { hold, queue, references } = this.cell.state;
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
    const session = this.random() < 0.5 ? this.cell.sessions.get(node) : undefined;
    const asker: CellAsker = session === undefined ? { node } : { node, session };
    const leaseMs = 600_000 + Math.floor(this.random() * 1000);
    const deed = { path: '/lock', body: this.cell.asked(asker) };
    const name = nameOf(asker);
    if (this.cell.holds(asker)) {
      return {
        ...deed,
        after: this.cell.state,
        done: () => {},
        answered: ({ token }) => this.cell.noteToken(Number(token)),
      };
    }
    if (this.cell.dismissed.has(name)) {
      const done = () => {
        this.cell.dismissed.delete(name);
        this.cell.doubtful.add(name);
      };
      const answered = ({ skip }: Record<string, unknown>) => {
        this.cell.doubtful.delete(name);
        return skip === true ? undefined : 'no skip';
      };
      return { ...deed, after: this.cell.state, done, answered };
    }
    if (this.cell.waits(asker)) {
      const answered = ({ ticket }: Record<string, unknown>) =>
        ticket === this.cell.tickets.get(name) ? undefined : 'another ticket';
      return { ...deed, after: this.cell.state, done: () => {}, answered };
    }
    return this.perhapsSkipped(name, this.newRequest({ asker, leaseMs }));
  }

  private newRequest(waiter: CellWaiter): Deed {
    const { asker, leaseMs } = waiter;
    const deed = { path: '/lock', body: this.cell.asked(asker, { lease_ms: leaseMs }) };
    if (!this.cell.state.hold) {
      const after = { ...this.cell.state, hold: { ...waiter, token: undefined } };
      const answered = ({ token }: Record<string, unknown>) => this.cell.noteToken(Number(token));
      return { ...deed, after, done: () => this.cell.granted(asker), answered };
    }
    const after = { ...this.cell.state, queue: [...this.cell.state.queue, waiter] };
    const answered = ({ ticket, position }: Record<string, unknown>) => {
      this.cell.tickets.set(nameOf(asker), String(ticket));
      return position === after.queue.length ? undefined : 'another position';
    };
    return { ...deed, after, done: () => {}, answered };
  }

  private perhapsSkipped(name: string, deed: Deed): Deed {
    if (!this.cell.doubtful.has(name)) return deed;
    const before = this.cell.state;
    const done = () => {
      this.cell.doubtful.delete(name);
      deed.done();
    };
    const answered = (body: Record<string, unknown>) => {
      if (body['skip'] !== true) return deed.answered?.(body);
      this.cell.state = before;
      return undefined;
    };
    return { ...deed, done, answered };
  }

  private release(error: string): Deed {
    const { asker } = this.cell.state.hold!;
    const { queue } = this.cell.state;
    const after =
      error === '' ? { ...this.cell.state, hold: undefined, queue: [] } : passedOn(this.cell.state);
    const nextHolder = after.hold?.asker.node;
    const done = () => {
      this.cell.lastRelease = { asker, error, nextHolder };
      if (error === '') this.cell.dismiss(queue.map((waiter) => waiter.asker));
      if (after.hold) this.cell.granted(after.hold.asker);
    };
    const answered = ({ next_holder }: Record<string, unknown>) =>
      next_holder === nextHolder ? undefined : 'another next holder';
    return { path: '/unlock', body: this.cell.asked(asker, { error }), after, done, answered };
  }

  private renew(): Deed {
    const hold = this.cell.state.hold!;
    const leaseMs = 700_000 + Math.floor(this.random() * 1000);
    const after = { ...this.cell.state, hold: { ...hold, leaseMs } };
    const body = this.cell.asked(hold.asker, { lease_ms: leaseMs });
    return {
      path: '/lock/renew',
      body,
      after,
      done: () => {},
      answered: ({ token }) => this.cell.noteToken(Number(token)),
    };
  }

  private cancel(asker: CellAsker): Deed {
    const done = () => void this.cell.tickets.delete(nameOf(asker));
    return {
      path: '/lock/cancel',
      body: this.cell.asked(asker),
      after: withoutWaiter(this.cell.state, asker),
      done,
    };
  }

  /** By itself, or by a pull that is skipped because others have the resource. */
  private addReference(byPull: boolean): Deed {
    const node = pick(this.random, NODES);
    const references = [...new Set([...this.cell.state.references, node])];
    const after = { ...this.cell.state, references };
    const body = { type: 'pull', resource_id: this.cell.id, node_id: node };
    const answered = ({ skip, count }: Record<string, unknown>) =>
      (byPull ? skip === true : count === references.length) ? undefined : 'not counted';
    return { path: byPull ? '/lock' : '/refcounts/add', body, after, done: () => {}, answered };
  }

  private releaseReference(node: string): Deed {
    const references = this.cell.state.references.filter((other) => other !== node);
    const body = { resource_id: this.cell.id, node_id: node };
    return { path: '/refcounts/release', body, after: { ...this.cell.state, references }, done: () => {} };
  }

  /** Opens one, or ends the one there is: its hold fails or its wait is withdrawn, then it is forgotten. */
  private session(node: string): Deed {
    const session = this.cell.sessions.get(node);
    if (session === undefined) {
      const answered = ({ session_id }: Record<string, unknown>) =>
        void this.cell.sessions.set(node, String(session_id));
      return {
        path: '/sessions',
        body: { node_id: node, ttl_ms: 600_000 },
        after: this.cell.state,
        done: () => {},
        answered,
      };
    }
    const asker = { node, session };
    const after = this.cell.holds(asker) ? passedOn(this.cell.state) : withoutWaiter(this.cell.state, asker);
    const done = () => {
      this.cell.sessions.delete(node);
      this.cell.dismissed.delete(nameOf(asker));
      if (this.cell.state.hold) this.cell.granted(this.cell.state.hold.asker);
    };
    return { method: 'DELETE', path: `/sessions/${session}`, after, done };
  }
}
