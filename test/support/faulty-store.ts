import {
  type Change,
  type Commit,
  type CommitOutcome,
  type Cursor,
  type Item,
  type Listing,
  type StateStore,
  type Unwatch,
  type WatchObserver,
  type Write,
} from '../../src/stores/state-store.interface.js';
import { StoreError } from '../../src/stores/store.error.js';
import { pick, type Random } from './random.js';

/** How likely each fault is, 0 to 1. */
export interface Faults {
  /** Applied, and the answer is lost. */
  readonly answerLost?: number;
  /** Never applied, and nobody knows. */
  readonly dropped?: number;
  /** Nobody knows, and it is applied some time later if it still can be. */
  readonly late?: number;
  /** Refused, and nothing is written. */
  readonly rejected?: number;
  /** A reading fails. */
  readonly unreadable?: number;
  /** What is committed does not reach the watcher before `deliver`. */
  readonly heldBack?: number;
  /** Calls take up to this many turns of the event loop, some before and some after they take effect. */
  readonly turns?: number;
}

/**
 * One instance's faulty connection to a store that several share. Everything it does is allowed by the port; the seed
 * decides what it does.
 */
export class FaultyStore implements StateStore {
  private late: { partition: number; writes: readonly Write[] }[] = [];
  private watches = new Set<HeldWatch>();
  private cut = false;

  constructor(
    private readonly inner: StateStore,
    private readonly random: Random,
    public faults: Faults,
    readonly shared = false,
  ) {}

  get partitionCount(): number {
    return this.inner.partitionCount;
  }

  async open(): Promise<void> {
    // The store behind it is open already, and stays so.
  }

  async close(): Promise<void> {
    // As above.
  }

  async get(partition: number, keys: readonly string[]): Promise<(Item | undefined)[]> {
    await this.delay();
    if (this.happens(this.faults.unreadable)) throw unavailable('get');
    await this.applySomeLate();
    const items = await this.inner.get(partition, keys);
    await this.delay();
    return items;
  }

  async commit(partition: number, writes: readonly Write[]): Promise<CommitOutcome> {
    await this.delay();
    await this.applySomeLate();
    const { faults } = this;
    if (this.happens(faults.rejected)) throw unavailable('commit');
    if (this.happens(faults.dropped)) return UNKNOWN;
    if (this.happens(faults.late)) {
      this.late.push({ partition, writes });
      return UNKNOWN;
    }
    const outcome = await this.inner.commit(partition, writes);
    await this.delay();
    return this.happens(faults.answerLost) ? UNKNOWN : outcome;
  }

  commitMany(commits: readonly Commit[]): Promise<CommitOutcome>[] {
    return commits.map(({ partition, writes }) => this.commit(partition, writes));
  }

  async list(partition: number, prefix?: string): Promise<Listing> {
    await this.delay();
    return this.inner.list(partition, prefix);
  }

  watch(partition: number, cursor: Cursor, observer: WatchObserver): Unwatch {
    const watch = new HeldWatch(observer, () => this.happens(this.faults.heldBack));
    watch.unwatch = this.inner.watch(partition, cursor, watch);
    this.watches.add(watch);
    return () => {
      watch.end();
      this.watches.delete(watch);
    };
  }

  /** Shows the watcher what was held back, or only the oldest of it. */
  deliver(commits = Infinity): void {
    for (const watch of this.watches) watch.deliver(commits);
  }

  /** As an engine does that made all of it in one transaction. How many changes that were. */
  deliverAsOne(): number {
    return Array.from(this.watches).reduce((changes, watch) => changes + watch.deliverAsOne(), 0);
  }

  /** The watcher was away too long: what was held back is lost, and it must list again. */
  compact(): void {
    for (const watch of [...this.watches]) {
      this.watches.delete(watch);
      watch.end();
      watch.observer.compacted();
    }
  }

  /** The connection over which it watches is lost. */
  interrupt(cause?: unknown): void {
    for (const watch of this.watches) watch.interrupt(cause);
  }

  /** And is back. */
  resume(): void {
    for (const watch of this.watches) watch.resume();
  }

  /** What was late arrives. */
  async applyLate(): Promise<void> {
    for (const { partition, writes } of this.late.splice(0)) await this.inner.commit(partition, writes);
  }

  /** The process is gone: nothing it asked for is ever answered. */
  cutOff(): void {
    this.cut = true;
    this.unwatchAll();
  }

  protected unwatchAll(): void {
    for (const watch of this.watches) watch.end();
    this.watches.clear();
  }

  private async applySomeLate(): Promise<void> {
    if (this.late.length > 0 && this.random() < 0.5) await this.applyLate();
  }

  private async delay(): Promise<void> {
    const turns = this.faults.turns ? Math.floor(this.random() * (this.faults.turns + 1)) : 0;
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    if (this.cut) await new Promise(() => undefined);
  }

  private happens(likelihood = 0): boolean {
    return likelihood > 0 && this.random() < likelihood;
  }
}

const UNKNOWN: CommitOutcome = { status: 'unknown', cause: 'the answer was lost' };

function unavailable(operation: string): StoreError {
  return new StoreError('STORE_UNAVAILABLE', operation, 'the store does not answer');
}

/** Keeps the order of the feed, not its pace. */
class HeldWatch implements WatchObserver {
  unwatch: Unwatch = () => undefined;
  private held: (readonly Change[])[] = [];
  private over = false;
  private away = false;

  constructor(
    readonly observer: WatchObserver,
    private readonly holdsBack: () => boolean,
  ) {}

  committed(changes: readonly Change[]): void {
    this.held.push(changes);
    if (!this.away && !this.holdsBack()) this.deliver(Infinity);
  }

  compacted(): void {
    if (!this.over) this.observer.compacted();
  }

  interrupt(cause: unknown): void {
    this.away = true;
    this.observer.interrupted?.(cause);
  }

  resume(): void {
    this.away = false;
    this.deliver(Infinity);
    this.observer.resumed?.();
  }

  deliver(commits: number): void {
    for (const changes of this.held.splice(0, commits)) if (!this.over) this.observer.committed(changes);
  }

  deliverAsOne(): number {
    const changes = this.held.splice(0).flat();
    this.observer.committed(changes);
    return changes.length;
  }

  end(): void {
    this.over = true;
    this.unwatch();
  }
}

/** Light, ordinary and heavy weather. */
export function someFaults(random: Random, turns: number): Faults {
  const likelihood = () => pick(random, [0, 0.05, 0.3]);
  return {
    answerLost: likelihood(),
    dropped: likelihood(),
    late: likelihood(),
    heldBack: pick(random, [0, 0.5, 0.95]),
    turns,
  };
}
