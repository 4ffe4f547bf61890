import { type CancelTimer, type Clock } from '../common/clock.interface.js';

/** Something with a deadline. The fields belong to `Deadlines`. */
export interface Due {
  dueAtMs: number;
  /** Place in the heap; -1: no deadline. */
  dueIndex: number;
}

/** How often time is looked at while anything has a deadline. */
const TICK_MS = 250;

/**
 * A longer silence than this means that the process was stopped, or its event loop was: only so much of it counts.
 * Two ticks, so that an ordinary late timer loses nothing.
 */
const MAX_STEP_MS = 2 * TICK_MS;

/**
 * The one owner of a timer: a binary heap of whatever has a deadline, at a cost that does not depend on how many there
 * are. Its time is *watched* time: monotonic, and standing still while the process did, or while it was paused. Nobody
 * is expired on the strength of a clock that was not watching.
 */
export class Deadlines<T extends Due> {
  private readonly heap: T[] = [];
  private watchedMs = 0;
  private lastSeenMs: number;
  /** `dueAtMs`: in watched time, at the earliest. */
  private timer: { readonly dueAtMs: number; readonly cancel: CancelTimer } | undefined;
  private paused = false;
  private stopped = false;

  constructor(
    private readonly clock: Clock,
    private readonly onDue: (due: T) => void,
    /** How much later than asked for something is due. */
    private readonly jitterMs: () => number = () => 0,
  ) {
    this.lastSeenMs = clock.monotonicMs();
  }

  get size(): number {
    return this.heap.length;
  }

  now(): number {
    const seen = this.clock.monotonicMs();
    if (!this.paused) this.watchedMs += Math.min(seen - this.lastSeenMs, MAX_STEP_MS);
    this.lastSeenMs = seen;
    return this.watchedMs;
  }

  /** `Infinity`: no deadline. */
  schedule(due: T, earliestMs: number): void {
    const atMs = earliestMs + this.jitterMs();
    if (due.dueIndex >= 0) {
      if (due.dueAtMs === atMs) return;
      if (atMs === Infinity) return this.removeAt(due.dueIndex);
      due.dueAtMs = atMs;
      this.settle(due.dueIndex);
    } else {
      if (atMs === Infinity) return;
      due.dueAtMs = atMs;
      this.heap.push(due);
      due.dueIndex = this.heap.length - 1;
      this.siftUp(due.dueIndex);
    }
    this.arm();
  }

  /** Until `resume`, time does not count. */
  pause(): void {
    this.now();
    this.paused = true;
    this.disarm();
  }

  resume(): void {
    this.now();
    this.paused = false;
    this.arm();
  }

  stop(): void {
    this.stopped = true;
    this.disarm();
  }

  private fire(): void {
    this.timer = undefined;
    const now = this.now();
    for (let next = this.heap[0]; next && next.dueAtMs <= now; next = this.heap[0]) {
      this.removeAt(0);
      this.onDue(next);
    }
    this.arm();
  }

  private arm(): void {
    const next = this.heap[0];
    if (!next || this.stopped || this.paused) return;
    if (this.timer && this.timer.dueAtMs <= next.dueAtMs) return;
    this.timer?.cancel();
    const now = this.now();
    const delay = Math.max(0, Math.min(TICK_MS, next.dueAtMs - now));
    this.timer = { dueAtMs: now + delay, cancel: this.clock.after(Math.ceil(delay), () => this.fire()) };
  }

  private disarm(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  private removeAt(index: number): void {
    this.heap[index]!.dueIndex = -1;
    const last = this.heap.pop()!;
    if (index === this.heap.length) return;
    this.place(last, index);
    this.settle(index);
  }

  private settle(index: number): void {
    this.siftUp(index);
    this.siftDown(index);
  }

  private siftUp(index: number): void {
    const due = this.heap[index]!;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.heap[parent]!.dueAtMs <= due.dueAtMs) break;
      this.place(this.heap[parent]!, index);
      index = parent;
    }
    this.place(due, index);
  }

  private siftDown(index: number): void {
    const due = this.heap[index]!;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= this.heap.length) break;
      if (child + 1 < this.heap.length && this.heap[child + 1]!.dueAtMs < this.heap[child]!.dueAtMs) child++;
      if (this.heap[child]!.dueAtMs >= due.dueAtMs) break;
      this.place(this.heap[child]!, index);
      index = child;
    }
    this.place(due, index);
  }

  private place(due: T, index: number): void {
    this.heap[index] = due;
    due.dueIndex = index;
  }
}
