import { type Command } from '../core/commands.js';
import { type Result } from '../core/results.js';
import { isIdle, keyOf, type ResourceState } from '../core/state.js';
import { type Text, type Write } from '../stores/state-store.interface.js';
import { type Batch } from './batch.js';
import { type Due } from './deadlines.js';
import { type DeadlinePolicy, KeyClock } from './key-clock.js';
import { type OwnCommits } from './own-commits.js';
import { type Recency } from './recent-slots.js';
import { isWholeInHead, NO_RECORD, recordOfHead, type StoredRecord } from './records/record.js';

/** Whoever owns the records: told what was read or written. */
export interface RecordKeeper {
  readonly own: OwnCommits;
  take(slot: ResourceSlot, record: StoredRecord, asOf: number): void;
  adoptOwn(slot: ResourceSlot, attempt: Attempt, revision: number): void;
  caughtUp(slot: ResourceSlot, missed: number): void;
}

export interface PendingCommand {
  readonly command: Command;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** A commit on its way to the store, or one of which nobody knows whether it arrived. */
export interface Attempt {
  readonly commitId: string;
  readonly partition: number;
  readonly writes: readonly Write[];
  readonly batch: Batch;
  /** `undefined`: the record is deleted. */
  readonly head: Text | undefined;
  readonly spilled: readonly string[];
  /** What it was to be written over. */
  readonly baseRevision: number;
  /** How often the feed had been listed when it was sent. */
  readonly listings: number;
  /** Nobody knows whether it was made. */
  isDoubtful: boolean;
  /** Of the commit, once the store has shown that it was made. */
  revision: number | undefined;
  /** The feed has shown it. */
  isShown: boolean;
}

/** The commands that wait for a resource, and the commit that is being made for it. */
export class Work {
  readonly inbox: PendingCommand[];
  /** The tries at the commit: an earlier one, too, may turn out to have been it. */
  inFlight: Attempt[] = [];
  /** Called when nothing is left to be done. */
  readonly onDone: (() => void)[] = [];
  /** While it waits for more of a crowd: ends that. */
  wake: (() => void) | undefined;

  constructor(
    readonly slot: ResourceSlot,
    readonly keeper: RecordKeeper,
    first: PendingCommand,
  ) {
    this.inbox = [first];
  }
}

/** What is known of a resource that is in use. */
interface Watched {
  readonly record: StoredRecord;
  readonly clocks: readonly KeyClock[];
  readonly idleSinceMs: number;
}

const NOTHING: Watched = { record: NO_RECORD, clocks: [], idleSinceMs: 0 };

/**
 * One resource in memory: its record as last seen, the commands that wait for it, and its deadlines.
 *
 * Most resources of a large installation are held or referenced for a long time and not asked for. Such a slot rests:
 * it keeps the text of its record instead of the record, which takes a quarter of the room.
 */
export class ResourceSlot implements Due {
  /** Up to this revision the resource has been seen here: that of its record, or of its deletion. */
  asOf = 0;
  /** Revision of a change that the feed could not show whole. */
  missed = 0;
  /** What is being done for the resource, while anything is. */
  work: Work | undefined;
  /** What was due is being dealt with; what comes due meanwhile is looked at afterwards. */
  expiring = false;
  /** What `Crowd` knows of it. */
  crowdedMs = 0;
  dueAtMs = Infinity;
  dueIndex = -1;
  recency: Recency = 'unknown';
  /** While it rests, the text of its record's head. */
  private content: Watched | string = NOTHING;
  /** While it rests, since when its hold is as it is. */
  private heldSinceMs = 0;

  constructor(readonly resourceId: string) {}

  /** Nothing stored and nobody asking: the slot can go. */
  get isUnused(): boolean {
    return this.revision === 0 && !this.work && !this.isBehind;
  }

  /** The record must be read before its deadlines can be trusted. */
  get isBehind(): boolean {
    return this.missed > this.asOf;
  }

  /** Takes a newer record, or that there is none any more, and notes what changed. */
  adopt(record: StoredRecord, asOf: number, nowMs: number, policy: DeadlinePolicy): void {
    const before = this.watched();
    // Rounded up: a deadline counted from here is never early, and a small integer takes no room of its own.
    const sinceMs = Math.ceil(nowMs);
    this.asOf = asOf;
    this.content = {
      record,
      clocks: record.state.keys.map((key) => {
        const clock = clockOf(before, key.type) ?? new KeyClock(key.type);
        clock.observe(keyOf(before.record.state, key.type), key, sinceMs, policy);
        return clock;
      }),
      idleSinceMs: isIdle(record.state) ? sinceMs : before.idleSinceMs,
    };
  }

  /** Rests, if there is nothing to it but what its head says and one clock can tell. */
  rest(): void {
    if (typeof this.content === 'string' || this.work || this.expiring || this.isBehind) return;
    const { record, clocks } = this.content;
    if (record.revision !== this.asOf || isIdle(record.state) || !isWholeInHead(record)) return;
    if (clocks.length > 1 || clocks.some((clock) => !clock.watchesOnlyAHold)) return;
    this.heldSinceMs = clocks[0]?.holdSinceMs ?? 0;
    this.content = record.head.toString();
  }

  get isResting(): boolean {
    return typeof this.content === 'string';
  }

  clockOf(type: string): KeyClock | undefined {
    return clockOf(this.watched(), type);
  }

  /** Wakes a resting slot. */
  get record(): StoredRecord {
    return this.watched().record;
  }

  /** Leaves a resting slot at rest. */
  get state(): ResourceState {
    return this.restingRecord()?.state ?? this.watched().record.state;
  }

  /** Of the record; 0 when there is none. */
  get revision(): number {
    return typeof this.content === 'string' ? this.asOf : this.content.record.revision;
  }

  nextDeadlineMs(policy: DeadlinePolicy): number {
    if (this.isBehind) return 0;
    let nextMs = this.idleEndMs(policy);
    for (const clock of this.watched().clocks) nextMs = Math.min(nextMs, clock.dueAtMs(policy));
    return nextMs;
  }

  *dueCommands(nowMs: number, policy: DeadlinePolicy): Iterable<Command> {
    for (const clock of this.watched().clocks) yield* clock.due(nowMs, policy);
    if (this.isBehind || this.isOver(nowMs, policy)) yield LOOK;
  }

  /** A record with nothing left in it has been kept long enough for the events of the commit that emptied it. */
  isOver(nowMs: number, policy: DeadlinePolicy): boolean {
    return this.idleEndMs(policy) <= nowMs;
  }

  private idleEndMs(policy: DeadlinePolicy): number {
    const { record, idleSinceMs } = this.watched();
    const empty = record !== NO_RECORD && isIdle(record.state);
    return empty ? idleSinceMs + policy.completionTtlMs : Infinity;
  }

  private restingRecord(): StoredRecord | undefined {
    const { content } = this;
    return typeof content === 'string' ? recordOfHead(this.resourceId, content, this.asOf) : undefined;
  }

  private watched(): Watched {
    const record = this.restingRecord();
    if (record) {
      const clocks = record.state.keys.map((key) => KeyClock.resumed(key, this.heldSinceMs));
      this.content = { record, clocks, idleSinceMs: 0 };
    }
    return this.content as Watched;
  }
}

function clockOf({ clocks }: Watched, type: string): KeyClock | undefined {
  return clocks.find((clock) => clock.type === type);
}

/** Changes nothing itself; answering it makes the shard compare the record with the store's, and drop one that is over. */
const LOOK: Command = { kind: 'forget', type: '', upTo: 0 };
