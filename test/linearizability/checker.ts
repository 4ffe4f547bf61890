import { Bitset } from './bitset.js';
import { type Model, type Operation } from './history.js';
import { type Mark, type Maybe, Timeline } from './timeline.js';

export interface Budget {
  /** Operations tried at some place in some order. */
  readonly steps?: number;
  readonly ms?: number;
}

/** How far the search came: an order of operations that explains the beginning of the history. */
export interface Reached<S, I, O> {
  readonly prefix: readonly Operation<I, O>[];
  readonly state: S;
  /** The first to return that has no place after the prefix. */
  readonly misfit: Operation<I, O>;
  /** The others under way then, which were tried before it. */
  readonly open: readonly Operation<I, O>[];
}

export type Verdict<S, I, O> =
  | {
      readonly is: 'linearizable';
      readonly steps: number;
      readonly order: readonly Operation<I, O>[];
    }
  | ({ readonly is: 'violated'; readonly steps: number } & Reached<S, I, O>)
  /** The budget was spent before every order was tried. */
  | ({ readonly is: 'undecided'; readonly steps: number } & Reached<S, I, O>);

/** On a slow machine half a minute, and less than 1 GB for what is remembered of them. */
const DEFAULT_STEPS = 2_000_000;

/** Looking at the clock costs more than a step. */
const STEPS_PER_LOOK = 1024;

/**
 * Is there an order of the operations, each at one moment between its call and its return, in which the model answers every
 * one of them as it was answered? Wing and Gong's search with Lowe's memory: a set of linearised operations that left the same
 * state before is not tried again.
 *
 * An unknown operation is tried where nothing known fits, and may be left out. `violated` is certain; its prefix is the
 * longest there is, in the sense that no order gets past the return of its misfit.
 */
export function check<S, I, O>(
  model: Model<S, I, O>,
  history: readonly Operation<I, O>[],
  budget: Budget = {},
): Verdict<S, I, O> {
  return new Search(model, history, budget).run();
}

/** One place in the search: what was linearised last, and what that led to. */
interface Frame<S, I, O> {
  readonly parent: Frame<S, I, O> | undefined;
  readonly by: Move<S, I, O> | undefined;
  readonly state: S;
  readonly latest: Latest;
  readonly moves: Iterator<Move<S, I, O>>;
}

/** Of what is linearised. */
interface Latest {
  /** Highest index of a known operation. */
  readonly index: number;
  /** Place of the last call. */
  readonly callAt: number;
}

const NOTHING: Latest = { index: 0, callAt: -1 };

interface Move<S, I, O> {
  readonly operation: Operation<I, O>;
  readonly state: S;
  readonly known?: Mark<I, O>;
  readonly maybe?: Maybe<I, O>;
}

class Search<S, I, O> {
  private readonly timeline: Timeline<I, O>;
  private readonly linearised: Bitset;
  private readonly happened: Bitset;
  private readonly tried = new Set<string>();
  private readonly maxSteps: number;
  private readonly endMs: number;
  private furthest:
    { frame: Frame<S, I, O>; barrier: Mark<I, O>; open: readonly Operation<I, O>[] } | undefined;
  private steps = 0;

  constructor(
    private readonly model: Model<S, I, O>,
    history: readonly Operation<I, O>[],
    { steps = DEFAULT_STEPS, ms = Infinity }: Budget,
  ) {
    this.timeline = new Timeline(history);
    this.linearised = new Bitset(this.timeline.size);
    this.happened = new Bitset(this.timeline.maybes.length);
    this.maxSteps = steps;
    this.endMs = performance.now() + ms;
  }

  run(): Verdict<S, I, O> {
    let frame: Frame<S, I, O> | undefined = this.frame(this.model.initial, NOTHING);
    while (frame) {
      if (!this.timeline.first) return { is: 'linearizable', steps: this.steps, order: orderOf(frame) };
      if (this.isSpent()) return { is: 'undecided', steps: this.steps, ...this.reached() };
      const { value: move, done } = frame.moves.next();
      if (done) {
        if (frame.by) this.takeBack(frame.by);
        frame = frame.parent;
      } else frame = this.tryMove(frame, move) ?? frame;
    }
    return { is: 'violated', steps: this.steps, ...this.reached() };
  }

  private isSpent(): boolean {
    if (this.steps >= this.maxSteps) return true;
    return this.steps % STEPS_PER_LOOK === 0 && performance.now() > this.endMs;
  }

  private tryMove(parent: Frame<S, I, O>, move: Move<S, I, O>): Frame<S, I, O> | undefined {
    this.steps++;
    this.make(move);
    const { known, maybe } = move;
    const latest = {
      index: Math.max(parent.latest.index, known?.index ?? 0),
      callAt: Math.max(parent.latest.callAt, known?.at ?? -1, maybe?.calledAt ?? -1),
    };
    const key = this.keyOf(latest, move.state);
    if (!this.tried.has(key)) {
      this.tried.add(key);
      return this.frame(move.state, latest, parent, move);
    }
    this.takeBack(move);
    return undefined;
  }

  private make({ known, maybe }: Move<S, I, O>): void {
    if (known) {
      this.linearised.flip(known.index);
      this.timeline.lift(known);
    }
    if (maybe) this.happened.flip(maybe.index);
  }

  private takeBack({ known, maybe }: Move<S, I, O>): void {
    if (known) {
      this.linearised.flip(known.index);
      this.timeline.putBack(known);
    }
    if (maybe) this.happened.flip(maybe.index);
  }

  /** Whether what can no longer happen did happen shows in the state alone. */
  private keyOf(latest: Latest, state: S): string {
    const lowest = this.timeline.first?.index ?? this.timeline.size;
    const done = this.linearised.key(lowest, latest.index);
    const happened = this.timeline.maybes.filter(
      (maybe) => this.happened.has(maybe.index) && isPossible(maybe, latest),
    );
    return `${done};${happened.map(({ index }) => index).join()};${this.model.key(state)}`;
  }

  private frame(state: S, latest: Latest, parent?: Frame<S, I, O>, by?: Move<S, I, O>): Frame<S, I, O> {
    const { calls, barrier } = this.underWay();
    const frame = { parent, by, state, latest, moves: this.moves(state, calls, barrier, latest) };
    if (barrier) this.note(frame, calls, barrier);
    return frame;
  }

  /** Calls before the first return of what is not yet linearised: any of them can be next. */
  private underWay(): { calls: Mark<I, O>[]; barrier: Mark<I, O> | undefined } {
    const calls: Mark<I, O>[] = [];
    let mark = this.timeline.first;
    while (mark?.returns) {
      calls.push(mark);
      mark = mark.next;
    }
    return { calls, barrier: mark };
  }

  private *moves(
    state: S,
    calls: readonly Mark<I, O>[],
    barrier: Mark<I, O> | undefined,
    latest: Latest,
  ): Generator<Move<S, I, O>, undefined> {
    for (const known of calls) {
      const { operation } = known;
      for (const next of this.model.step(state, operation)) yield { operation, state: next, known };
    }
    const key = this.model.key(state);
    for (const maybe of this.timeline.maybes) {
      if (maybe.calledAt > (barrier?.at ?? Infinity)) return;
      if (this.happened.has(maybe.index) || !isPossible(maybe, latest)) continue;
      const { operation, twin } = maybe;
      if (twin && !this.happened.has(twin.index)) continue;
      for (const next of this.model.step(state, operation)) {
        if (next !== state && this.model.key(next) !== key) yield { operation, state: next, maybe };
      }
    }
  }

  private note(frame: Frame<S, I, O>, calls: readonly Mark<I, O>[], barrier: Mark<I, O>): void {
    if (this.furthest && barrier.at <= this.furthest.barrier.at) return;
    const open = calls.filter(({ index }) => index !== barrier.index).map(({ operation }) => operation);
    this.furthest = { frame, barrier, open };
  }

  private reached(): Reached<S, I, O> {
    const { frame, barrier, open } = this.furthest!;
    return { prefix: orderOf(frame), state: frame.state, misfit: barrier.operation, open };
  }
}

/** Something called after its return has been linearised: it is too late for it. */
function isPossible<I, O>({ returnedAt }: Maybe<I, O>, { callAt }: Latest): boolean {
  return returnedAt > callAt;
}

function orderOf<S, I, O>(frame: Frame<S, I, O>): Operation<I, O>[] {
  const order: Operation<I, O>[] = [];
  for (let at: Frame<S, I, O> | undefined = frame; at?.by; at = at.parent) order.push(at.by.operation);
  return order.toReversed();
}
