import { type Clock } from '../common/clock.interface.js';
import { type Command, type ResultOf } from '../core/commands.js';
import { check } from '../core/invariants.js';
import { type Policy } from '../core/policy.js';
import { type Result } from '../core/results.js';
import { settle, settleResult } from '../core/settle.js';
import { queueLength, type ResourceState } from '../core/state.js';
import { transition } from '../core/transition.js';
import { type StateStore, type Write } from '../stores/state-store.interface.js';
import { StoreError } from '../stores/store.error.js';
import { type Batch, combine } from './batch.js';
import { type Committer } from './committer.js';
import { type Crowd, isPatient } from './crowd.js';
import { type CountedReferences } from './counted-references.js';
import { type Deadlines } from './deadlines.js';
import { type DeadlinePolicy } from './key-clock.js';
import { type ReadRecord, readRecord } from './record-reader.js';
import { headKey } from './records/item-keys.js';
import { encodeRecord, NO_RECORD, type StoredRecord } from './records/record.js';
import { type RecentSlots } from './recent-slots.js';
import { type Attempt, type PendingCommand, ResourceSlot, Work } from './resource-slot.js';

/** Enough for every instance of a large installation to get in between; then something else is wrong. */
const MAX_TRIES = 64;

/** After the store has failed an expiry it is tried again, no sooner than this: it has enough to do. */
const RETRY_MS = 1000;

export interface ShardContext {
  readonly store: StateStore;
  readonly committer: Committer;
  /** Only over a shared store: an embedded one is quicker than any crowd. */
  readonly crowd: Crowd | undefined;
  readonly clock: Clock;
  readonly deadlines: Deadlines<ResourceSlot>;
  readonly policy: Policy & DeadlinePolicy;
  readonly references: CountedReferences;
  readonly recent: RecentSlots;
  partitionOf(resourceId: string): number;
  newCommitId(): string;
  /** As `RecordFeed` says. */
  shownUpTo(partition: number, revision: number): Promise<void>;
  listingsOf(partition: number): number;
  /** A record that the feed could not show whole is known now. */
  caughtUp(slot: ResourceSlot): void;
}

/**
 * Owns the records of its resources. Commands for one resource are applied one after the other; while a commit is on
 * its way, those that arrive are combined into the next. Resources never wait for each other.
 */
export class Shard {
  /** Waiters in all its queues. */
  waiting = 0;
  private readonly slots = new Map<string, ResourceSlot>();

  constructor(private readonly context: ShardContext) {}

  submit<C extends Command>(resourceId: string, command: C): Promise<ResultOf<C>> {
    const slot = this.slotOf(resourceId);
    return new Promise((resolve, reject) => {
      const pending = { command, resolve: resolve as (result: Result) => void, reject };
      if (slot.work) return this.join(slot, slot.work, pending);
      slot.work = new Work(pending);
      slot.work.done = this.run(slot, slot.work);
    });
  }

  find(resourceId: string): ResourceSlot | undefined {
    return this.slots.get(resourceId);
  }

  all(): Iterable<ResourceSlot> {
    return this.slots.values();
  }

  get size(): number {
    return this.slots.size;
  }

  /** Takes what the store showed at this revision (no record: a deletion), unless something newer is known. */
  adopt(resourceId: string, record: StoredRecord, revision: number): void {
    const slot = this.slotOf(resourceId);
    if (revision > slot.asOf) this.take(slot, record, revision);
    this.leave(slot);
  }

  /**
   * Takes what a listing showed, unless something newer was learnt after it began; `seenAsOf`: how far the resource had
   * been seen then. Whether it had been seen further than the store knows now.
   */
  adoptListed(resourceId: string, record: StoredRecord, revision: number, seenAsOf = 0): boolean {
    const slot = this.slotOf(resourceId);
    const isSetBack = slot.asOf === seenAsOf && revision < seenAsOf;
    if (isSetBack || revision > slot.asOf) this.take(slot, record, revision);
    this.leave(slot);
    return isSetBack;
  }

  /** Takes what a commit of its own wrote: the feed has shown it, perhaps instead of an answer. */
  adoptOwn(slot: ResourceSlot, attempt: Attempt, revision: number): void {
    attempt.revision = revision;
    if (revision <= slot.asOf) return;
    const { batch, head, spilled } = attempt;
    const state = settle(this.context.references.detach(batch.state), revision);
    this.take(slot, head === undefined ? NO_RECORD : { state, head, revision, spilled }, revision);
  }

  /** The feed could not show all of the change with this revision: the record is read until that succeeds. */
  miss(resourceId: string, revision: number): void {
    const slot = this.slotOf(resourceId);
    slot.missed = Math.max(slot.missed, revision);
    void this.expire(slot);
  }

  /** The time of something in this slot is up. */
  async expire(slot: ResourceSlot): Promise<void> {
    if (slot.expiring) return;
    const { deadlines, policy } = this.context;
    slot.expiring = true;
    const commands = [...slot.dueCommands(deadlines.now(), policy)];
    const ends = await Promise.allSettled(commands.map((command) => this.submit(slot.resourceId, command)));
    slot.expiring = false;
    if (this.slots.get(slot.resourceId) !== slot) return;
    const failed = slot.isBehind || ends.some(({ status }) => status === 'rejected');
    const next = slot.nextDeadlineMs(policy);
    deadlines.schedule(slot, failed ? Math.max(next, deadlines.now() + RETRY_MS) : next);
    this.leave(slot);
  }

  private async run(slot: ResourceSlot, work: Work): Promise<void> {
    // What arrives together goes together.
    await undefined;
    while (work.inbox.length > 0) {
      try {
        if (this.context.crowd) await this.gather(slot, work, this.context.crowd);
        await this.round(slot, work);
      } catch (error) {
        for (const { reject } of work.inbox.splice(0)) reject(error);
      }
      work.inFlight = [];
    }
    slot.work = undefined;
    this.leave(slot);
  }

  private join(slot: ResourceSlot, work: Work, pending: PendingCommand): void {
    work.inbox.push(pending);
    if (work.wake && !this.isPatient(slot, pending)) work.wake();
  }

  /** Waits for more, as long as nobody in the inbox has to go on. What others commit meanwhile may change that. */
  private async gather(slot: ResourceSlot, work: Work, crowd: Crowd): Promise<void> {
    for (;;) {
      const waitMs = crowd.waitMs(slot);
      if (waitMs <= 0 || !work.inbox.every((pending) => this.isPatient(slot, pending))) return;
      await crowd.wait(work, waitMs);
    }
  }

  private isPatient({ state }: ResourceSlot, { command }: PendingCommand): boolean {
    const { clock, policy } = this.context;
    return isPatient(command, transition(state, command, clock.wallMs(), policy).result);
  }

  /** Answers at least the first command of the inbox, through one commit or, if there is nothing to write, none. */
  private async round(slot: ResourceSlot, work: Work): Promise<void> {
    const { references, committer, partitionOf } = this.context;
    const { resourceId } = slot;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const landed = work.inFlight.find(({ revision }) => revision !== undefined);
      if (landed) return this.land(slot, work, landed, landed.revision!);
      const loading = references.load(resourceId);
      const counted = loading && (await loading);
      const base = slot.record;
      const state = references.attach(base.state, counted);
      const batch = this.combine(slot, work, state);
      if (batch.state === state && !this.isOver(slot)) {
        if (await this.isCurrent(slot, base)) return this.answer(slot, work, batch, base.revision);
        continue;
      }
      const saving = references.save(resourceId, counted, batch.state.references);
      if (saving) await saving;
      const { attempt, writes } = this.attempt(slot, base, batch);
      work.inFlight.push(attempt);
      const outcome = await committer.commit(partitionOf(resourceId), writes, batch.results.length);
      if (outcome.status === 'committed') return this.land(slot, work, attempt, outcome.revision);
      attempt.isDoubtful = outcome.status === 'unknown';
      await this.findOwn(work, slot.resourceId, await this.reload(slot));
    }
    throw new StoreError(
      'STORE_UNAVAILABLE',
      'commit',
      `resource ${resourceId} was changed by others ${MAX_TRIES} times in a row: try again`,
    );
  }

  /**
   * Finds out whether one of the tries was made after all. If the record is as it was before them, none was; if another
   * commit has been made since, it may have been made over one of them, and then only the feed can tell. Trying again without
   * knowing would do twice what was asked for once.
   */
  private async findOwn(work: Work, resourceId: string, { record, commitId }: ReadRecord): Promise<void> {
    const { partitionOf, shownUpTo, listingsOf } = this.context;
    const partition = partitionOf(resourceId);
    const own = work.inFlight.find((attempt) => attempt.commitId === commitId);
    if (own) own.revision = record.revision;
    const doubtful = work.inFlight.find(
      ({ isDoubtful, baseRevision }) => isDoubtful && baseRevision !== record.revision,
    );
    if (own || !doubtful) return;
    if (record !== NO_RECORD) await shownUpTo(partition, record.revision);
    if (record !== NO_RECORD && doubtful.listings === listingsOf(partition)) return;
    throw new StoreError('STORE_UNAVAILABLE', 'commit', 'the answer of the store was lost: try again');
  }

  private combine(slot: ResourceSlot, work: Work, state: ResourceState): Batch {
    const { clock, policy } = this.context;
    return combine(state, this.prepared(slot, work), clock.wallMs(), policy);
  }

  /** A waiter that was last written long ago is written again when it asks. */
  private *prepared(slot: ResourceSlot, work: Work): Iterable<Command> {
    const { deadlines, policy } = this.context;
    for (const { command } of work.inbox) {
      const asks = command.kind === 'acquire' || command.kind === 'claim';
      const clock = asks ? slot.clockOf(command.type) : undefined;
      yield asks && clock?.shouldTouch(command.asker, deadlines.now(), policy)
        ? { ...command, touch: true }
        : command;
    }
  }

  /** Nothing has changed, and yet there is something to write: the end of the record. */
  private isOver(slot: ResourceSlot): boolean {
    return slot.isOver(this.context.deadlines.now(), this.context.policy);
  }

  private attempt(
    slot: ResourceSlot,
    base: StoredRecord,
    batch: Batch,
  ): { attempt: Attempt; writes: readonly Write[] } {
    const commitId = this.context.newCommitId();
    const next = this.context.references.detach(batch.state);
    const { writes, head, spilled } = encodeRecord(slot.resourceId, base, next, batch.events, commitId);
    check(writes.length > 0, 'a commit writes something');
    const listings = this.context.listingsOf(this.context.partitionOf(slot.resourceId));
    const { revision: baseRevision } = base;
    const sent = { listings, baseRevision, isDoubtful: false, revision: undefined };
    return { writes, attempt: { commitId, batch, head, spilled, ...sent } };
  }

  private land(slot: ResourceSlot, work: Work, attempt: Attempt, revision: number): void {
    this.adoptOwn(slot, attempt, revision);
    const { results } = attempt.batch;
    if (results.every((result, index) => isPatient(work.inbox[index]!.command, result))) {
      this.context.crowd?.committed(slot);
    }
    this.answer(slot, work, attempt.batch, revision);
  }

  private answer(slot: ResourceSlot, work: Work, batch: Batch, revision: number): void {
    const nowMs = this.context.deadlines.now();
    const answered = work.inbox.splice(0, batch.results.length);
    for (let i = 0; i < answered.length; i++) {
      const { command, resolve } = answered[i]!;
      if (command.kind === 'acquire' || command.kind === 'claim') {
        slot.clockOf(command.type)?.asked(command.asker, nowMs);
      }
      resolve(settleResult(batch.results[i]!, revision));
    }
  }

  /** An answer that commits nothing must rest on what the store holds now, not on what was last seen of it. */
  private async isCurrent(slot: ResourceSlot, base: StoredRecord): Promise<boolean> {
    const { store, partitionOf } = this.context;
    const { missed } = slot;
    const [head] = await store.get(partitionOf(slot.resourceId), [headKey(slot.resourceId)]);
    if ((head?.revision ?? 0) !== base.revision) {
      await this.reload(slot);
      return false;
    }
    this.caughtUp(slot, missed);
    return true;
  }

  /** What the feed has brought since the reading began stays if it is newer. */
  private async reload(slot: ResourceSlot): Promise<ReadRecord> {
    const { store, partitionOf } = this.context;
    const { asOf, missed } = slot;
    const read = await readRecord(store, partitionOf(slot.resourceId), slot.resourceId);
    const { record } = read;
    const overtaken = slot.asOf !== asOf;
    const differs = overtaken ? record.revision > slot.asOf : record.revision !== slot.revision;
    if (differs) this.take(slot, record, Math.max(asOf, record.revision));
    this.caughtUp(slot, missed);
    return read;
  }

  /** Nothing further was missed since the reading began. */
  private caughtUp(slot: ResourceSlot, missed: number): void {
    if (missed === 0 || slot.missed !== missed) return;
    slot.missed = 0;
    this.context.caughtUp(slot);
  }

  private take(slot: ResourceSlot, record: StoredRecord, asOf: number): void {
    const { deadlines, policy } = this.context;
    this.waiting += waitersIn(record) - waitersIn(slot.record);
    slot.adopt(record, asOf, deadlines.now(), policy);
    deadlines.schedule(slot, slot.nextDeadlineMs(policy));
    slot.work?.wake?.();
    if (!slot.isBehind) this.caughtUp(slot, slot.missed);
  }

  private slotOf(resourceId: string): ResourceSlot {
    let slot = this.slots.get(resourceId);
    if (!slot) this.slots.set(resourceId, (slot = new ResourceSlot(resourceId)));
    return slot;
  }

  private leave(slot: ResourceSlot): void {
    const { deadlines, recent } = this.context;
    if (!slot.isUnused) return recent.use(slot);
    if (this.slots.get(slot.resourceId) !== slot) return;
    this.slots.delete(slot.resourceId);
    deadlines.schedule(slot, Infinity);
  }
}

function waitersIn({ state }: StoredRecord): number {
  return state.keys.reduce((waiters, key) => waiters + queueLength(key), 0);
}
