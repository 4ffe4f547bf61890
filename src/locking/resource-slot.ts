import { type Command } from '../core/commands.js';
import { type Result } from '../core/results.js';
import { isIdle, keyOf, type ResourceState } from '../core/state.js';
import { type Batch } from './batch.js';
import { type Due } from './deadlines.js';
import { type DeadlinePolicy, KeyClock } from './key-clock.js';
import { NO_RECORD, type StoredRecord } from './records/record.js';

export interface PendingCommand {
  readonly command: Command;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** A commit on its way to the store, or one of which nobody knows whether it arrived. */
export interface Attempt {
  readonly commitId: string;
  readonly batch: Batch;
  /** Text of the head; `undefined`: the record is deleted. */
  readonly head: string | undefined;
  readonly spilled: readonly string[];
  /** Of the commit, once the store has shown that it was made. */
  revision: number | undefined;
}

/** The commands that wait for a resource, and the commit that is being made for it. */
export class Work {
  inbox: PendingCommand[] = [];
  /** The tries at the commit: an earlier one, too, may turn out to have been it. */
  inFlight: Attempt[] = [];
  done: Promise<void> | undefined;
}

const NO_CLOCKS: readonly KeyClock[] = [];

/** One resource in memory: its record as last seen, the commands that wait for it, and its deadlines. */
export class ResourceSlot implements Due {
  record: StoredRecord = NO_RECORD;
  /** Up to this revision the resource has been seen here: that of its record, or of its deletion. */
  asOf = 0;
  /** Revision of a change that the feed could not show whole. */
  missed = 0;
  /** What is being done for the resource, while anything is. */
  work: Work | undefined;
  /** What was due is being dealt with; what comes due meanwhile is looked at afterwards. */
  expiring = false;
  dueAtMs = Infinity;
  dueIndex = -1;
  private clocks: readonly KeyClock[] = NO_CLOCKS;
  private idleSinceMs = 0;

  constructor(readonly resourceId: string) {}

  /** Nothing stored and nobody asking: the slot can go. */
  get isUnused(): boolean {
    return this.record === NO_RECORD && !this.work && !this.isBehind;
  }

  /** The record must be read before its deadlines can be trusted. */
  get isBehind(): boolean {
    return this.missed > this.asOf;
  }

  /** The store was read, and nothing further was missed meanwhile. */
  caughtUp(missed: number): void {
    if (this.missed === missed) this.missed = 0;
  }

  /** Takes a newer record, or that there is none any more, and notes what changed. */
  adopt(record: StoredRecord, asOf: number, nowMs: number, policy: DeadlinePolicy): void {
    const before = this.record.state;
    this.record = record;
    this.asOf = asOf;
    this.clocks = record.state.keys.map((key) => {
      const clock = this.clockOf(key.type) ?? new KeyClock(key.type);
      clock.observe(keyOf(before, key.type), key, nowMs, policy);
      return clock;
    });
    if (isIdle(record.state)) this.idleSinceMs = nowMs;
  }

  clockOf(type: string): KeyClock | undefined {
    return this.clocks.find((clock) => clock.type === type);
  }

  get state(): ResourceState {
    return this.record.state;
  }

  nextDeadlineMs(policy: DeadlinePolicy): number {
    if (this.isBehind) return 0;
    return Math.min(this.idleEndMs(policy), ...this.clocks.map((clock) => clock.dueAtMs(policy)));
  }

  *dueCommands(nowMs: number, policy: DeadlinePolicy): Iterable<Command> {
    for (const clock of this.clocks) yield* clock.due(nowMs, policy);
    if (this.isBehind || this.isOver(nowMs, policy)) yield LOOK;
  }

  /** A record with nothing left in it has been kept long enough for the events of the commit that emptied it. */
  isOver(nowMs: number, policy: DeadlinePolicy): boolean {
    return this.idleEndMs(policy) <= nowMs;
  }

  private idleEndMs(policy: DeadlinePolicy): number {
    const empty = this.record !== NO_RECORD && isIdle(this.state);
    return empty ? this.idleSinceMs + policy.completionTtlMs : Infinity;
  }
}

/** Changes nothing itself; answering it makes the shard compare the record with the store's, and drop one that is over. */
const LOOK: Command = { kind: 'forget', type: '', upTo: 0 };
