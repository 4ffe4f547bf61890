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

/** A commit on its way to the store. */
export interface Attempt {
  readonly commitId: string;
  readonly batch: Batch;
  /** Text of the head; `undefined`: the record is deleted. */
  readonly head: string | undefined;
  readonly spilled: readonly string[];
}

/** One resource in memory: its record as last seen, the commands that wait for it, and its deadlines. */
export class ResourceSlot implements Due {
  record: StoredRecord = NO_RECORD;
  inbox: PendingCommand[] = [];
  /** The work on the inbox, while there is any. */
  running: Promise<void> | undefined;
  inFlight: Attempt | undefined;
  dueAtMs = Infinity;
  dueIndex = -1;
  private clocks: KeyClock[] = [];
  private idleSinceMs = 0;

  constructor(readonly resourceId: string) {}

  /** Nothing stored and nobody asking: the slot can go. */
  get isUnused(): boolean {
    return this.record === NO_RECORD && !this.running;
  }

  /** Takes a newer record and notes what changed. */
  adopt(record: StoredRecord, nowMs: number, policy: DeadlinePolicy): void {
    const before = this.record.state;
    this.record = record;
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
    if (this.record === NO_RECORD) return Infinity;
    if (this.clocks.length === 0) {
      return isIdle(this.state) ? this.idleSinceMs + policy.completionTtlMs : Infinity;
    }
    return Math.min(...this.clocks.map((clock) => clock.dueAtMs(policy)));
  }

  *dueCommands(nowMs: number, policy: DeadlinePolicy): Iterable<Command> {
    for (const clock of this.clocks) yield* clock.due(nowMs, policy);
    if (this.clocks.length === 0) yield TIDY;
  }
}

/** A record with nothing left in it was kept for the events of its last commit; this makes the shard drop it. */
const TIDY: Command = { kind: 'forget', type: '', upTo: 0 };
