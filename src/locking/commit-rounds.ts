import { type ChunkedList } from '../core/chunked-list.js';
import { type Command } from '../core/commands.js';
import { check } from '../core/invariants.js';
import { settleResult } from '../core/settle.js';
import { type Reference, type ResourceState } from '../core/state.js';
import { type CommitOutcome } from '../stores/state-store.interface.js';
import { StoreError } from '../stores/store.error.js';
import { type Batch, combine } from './batch.js';
import { isPatient } from './crowd.js';
import { type ReadRecord, readRecord } from './record-reader.js';
import { encodeRecord } from './records/encode-record.js';
import { headKey } from './records/item-keys.js';
import { NO_RECORD, type StoredRecord } from './records/record.js';
import { type Attempt, type RecordKeeper, type ResourceSlot, type Work } from './resource-slot.js';
import { type ShardContext } from './shard-context.js';

/** Enough for every instance of a large installation to get in between; then something else is wrong. */
const MAX_TRIES = 64;

/** What is to become of the first commands of an inbox. */
interface Decision {
  /** The record it was decided by. */
  readonly base: StoredRecord;
  readonly batch: Batch;
  /** Otherwise it is answered only. */
  readonly isWritten: boolean;
}

/**
 * One commit at a time for a resource: what its inbox asks for is combined, written over what was last seen of the record,
 * and answered once the store has said what became of it.
 */
export class CommitRounds {
  constructor(
    private readonly context: ShardContext,
    private readonly keeper: RecordKeeper,
  ) {}

  /**
   * Answers at least the first command of the inbox, through one commit or, if there is nothing to write, none; whom it cannot
   * answer it refuses. Then it calls back.
   */
  answerSome(slot: ResourceSlot, work: Work, done: () => void): void {
    const fail = (error: unknown) => {
      for (const pending of work.inbox.splice(0)) pending.reject(error);
      done();
    };
    if (this.context.references.areElsewhere) this.persist(slot, work).then(done, fail);
    else this.tryOnce(slot, work, done, fail);
  }

  /** The first try is nearly always the only one, and has no promises of its own. */
  private tryOnce(slot: ResourceSlot, work: Work, done: () => void, fail: (error: unknown) => void): void {
    const again = (answered: boolean) => (answered ? undefined : this.persist(slot, work));
    try {
      const decision = this.decide(slot, work, undefined);
      if (!decision.isWritten) return void this.confirm(slot, work, decision).then(again).then(done, fail);
      const attempt = this.attempt(slot, work, decision);
      const settled = (outcome: CommitOutcome) => {
        if (outcome.status !== 'committed')
          return void this.doubt(slot, work, attempt, outcome)
            .then(() => again(false))
            .then(done, fail);
        try {
          this.land(slot, work, attempt, outcome.revision);
        } catch (error) {
          return fail(error);
        }
        done();
      };
      const { partition, writes, batch } = attempt;
      this.context.committer.commit({
        partition,
        writes,
        commands: batch.results.length,
        settled,
        failed: fail,
      });
    } catch (error) {
      fail(error);
    }
  }

  /** Tries until it has answered. */
  private async persist(slot: ResourceSlot, work: Work): Promise<void> {
    const { references } = this.context;
    const { resourceId } = slot;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const landed = work.inFlight.find(({ revision }) => revision !== undefined);
      if (landed) return this.land(slot, work, landed, landed.revision!);
      const counted = await references.load(resourceId);
      const decision = this.decide(slot, work, counted);
      if (!decision.isWritten) {
        if (await this.confirm(slot, work, decision)) return;
        continue;
      }
      await references.save(resourceId, counted, decision.batch.state.references);
      const attempt = this.attempt(slot, work, decision);
      const outcome = await this.commit(attempt);
      if (outcome.status === 'committed') return this.land(slot, work, attempt, outcome.revision);
      await this.doubt(slot, work, attempt, outcome);
    }
    throw new StoreError(
      'STORE_UNAVAILABLE',
      'commit',
      `resource ${resourceId} was changed by others ${MAX_TRIES} times in a row: try again`,
    );
  }

  /** What the commands of the inbox come to, over the record as last seen. */
  private decide(slot: ResourceSlot, work: Work, counted: ChunkedList<Reference> | undefined): Decision {
    const base = slot.record;
    const state = this.context.references.attach(base.state, counted);
    const batch = this.combine(slot, work, state);
    return { base, batch, isWritten: batch.state !== state || this.isOver(slot) };
  }

  /** Answers what needs no commit, unless the store has something newer than it was decided by. */
  private async confirm(slot: ResourceSlot, work: Work, { base, batch }: Decision): Promise<boolean> {
    if (!(await this.isCurrent(slot, base))) return false;
    this.answer(slot, work, batch, base.revision);
    return true;
  }

  private commit({ partition, writes, batch }: Attempt): Promise<CommitOutcome> {
    return new Promise((settled, failed) =>
      this.context.committer.commit({ partition, writes, commands: batch.results.length, settled, failed }),
    );
  }

  /** Another was first, or nobody knows: from now on the record is what the store has, and perhaps that is the very attempt. */
  private async doubt(
    slot: ResourceSlot,
    work: Work,
    attempt: Attempt,
    outcome: CommitOutcome,
  ): Promise<void> {
    attempt.isDoubtful = outcome.status === 'unknown';
    await this.findOwn(work, slot.resourceId, await this.reload(slot));
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
    const { inbox } = work;
    const commands = { length: inbox.length, at: (i: number) => this.prepared(slot, inbox[i]!.command) };
    return combine(state, commands, clock.wallMs(), policy);
  }

  /** A waiter that was last written long ago is written again when it asks. */
  private prepared(slot: ResourceSlot, command: Command): Command {
    if (command.kind !== 'acquire' && command.kind !== 'claim') return command;
    const clock = slot.clockOf(command.type);
    if (!clock?.watchesWaiters) return command;
    const { deadlines, policy } = this.context;
    const isDue = clock.shouldTouch(command.asker, deadlines.now(), policy);
    return isDue ? { ...command, touch: true } : command;
  }

  /** Nothing has changed, and yet there is something to write: the end of the record. */
  private isOver(slot: ResourceSlot): boolean {
    return slot.isOver(this.context.deadlines.now(), this.context.policy);
  }

  private attempt(slot: ResourceSlot, work: Work, { base, batch }: Decision): Attempt {
    const { store, references, newCommitId, partitionOf, listingsOf } = this.context;
    const commitId = newCommitId();
    const next = references.detach(batch.state);
    const notes = { commitId, events: batch.events, othersRead: !store.exclusive, by: work };
    const { writes, head, spilled } = encodeRecord(slot.resourceId, base, next, notes);
    check(writes.length > 0, 'a commit writes something');
    const partition = partitionOf(slot.resourceId);
    const attempt: Attempt = {
      commitId,
      partition,
      writes,
      batch,
      head,
      spilled,
      listings: listingsOf(partition),
      baseRevision: base.revision,
      isDoubtful: false,
      revision: undefined,
      isShown: false,
    };
    work.inFlight.push(attempt);
    return attempt;
  }

  private land(slot: ResourceSlot, work: Work, attempt: Attempt, revision: number): void {
    this.keeper.adoptOwn(slot, attempt, revision);
    this.context.own.landed(attempt);
    const { results } = attempt.batch;
    if (results.every((result, index) => isPatient(work.inbox[index]!.command, result))) {
      this.context.crowd?.committed(slot);
    }
    this.answer(slot, work, attempt.batch, revision);
  }

  private answer(slot: ResourceSlot, work: Work, batch: Batch, revision: number): void {
    const answered = work.inbox.splice(0, batch.results.length);
    for (let i = 0; i < answered.length; i++) {
      const pending = answered[i]!;
      const { command } = pending;
      if (command.kind === 'acquire' || command.kind === 'claim') {
        const clock = slot.clockOf(command.type);
        if (clock?.watchesWaiters) clock.asked(command.asker, this.context.deadlines.now());
      }
      pending.resolve(settleResult(batch.results[i]!, revision));
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
    this.keeper.caughtUp(slot, missed);
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
    if (differs) this.keeper.take(slot, record, Math.max(asOf, record.revision));
    this.keeper.caughtUp(slot, missed);
    return read;
  }
}
