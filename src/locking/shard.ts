import { type Command, type ResultOf } from '../core/commands.js';
import { type Result } from '../core/results.js';
import { settle } from '../core/settle.js';
import { queueLength } from '../core/state.js';
import { transition } from '../core/transition.js';
import { CommitRounds, type RecordKeeper } from './commit-rounds.js';
import { type Crowd, isPatient } from './crowd.js';
import { NO_RECORD, type StoredRecord } from './records/record.js';
import { type Attempt, type PendingCommand, ResourceSlot, Work } from './resource-slot.js';
import { type ShardContext } from './shard-context.js';

/** After the store has failed an expiry it is tried again, no sooner than this: it has enough to do. */
const RETRY_MS = 1000;

/**
 * Owns the records of its resources. Commands for one resource are applied one after the other; while a commit is on
 * its way, those that arrive are combined into the next. Resources never wait for each other.
 */
export class Shard implements RecordKeeper {
  /** Waiters in all its queues. */
  waiting = 0;
  private readonly slots = new Map<string, ResourceSlot>();
  private readonly rounds: CommitRounds;

  constructor(private readonly context: ShardContext) {
    this.rounds = new CommitRounds(context, this);
  }

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

  /** Takes what is known as of this revision, newer or not. */
  take(slot: ResourceSlot, record: StoredRecord, asOf: number): void {
    const { deadlines, policy } = this.context;
    this.waiting += waitersIn(record) - waitersIn(slot.record);
    slot.adopt(record, asOf, deadlines.now(), policy);
    deadlines.schedule(slot, slot.nextDeadlineMs(policy));
    slot.work?.wake?.();
    if (!slot.isBehind) this.caughtUp(slot, slot.missed);
  }

  /** Nothing further was missed since the reading began. */
  caughtUp(slot: ResourceSlot, missed: number): void {
    if (missed === 0 || slot.missed !== missed) return;
    slot.missed = 0;
    this.context.caughtUp(slot);
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
    // What arrives together goes together: first all requests are read, then all are decided, then all are answered. One
    // after the other would have each step find the processor's caches filled with the other steps (measured: 100 → 70 µs).
    await this.context.company.join();
    while (work.inbox.length > 0) {
      try {
        if (this.context.crowd) await this.gather(slot, work, this.context.crowd);
        await this.rounds.answerSome(slot, work);
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
