import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnModuleInit,
  Optional,
} from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { type Observable, Subject } from 'rxjs';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { type Random, RANDOM } from '../common/random.interface.js';
import { inTurns } from '../common/in-turns.js';
import { type Command, type ResultOf } from '../core/commands.js';
import { fnv1a } from '../core/fnv1a.js';
import { type ResourceState } from '../core/state.js';
import { REF_COUNT_STORAGE, type RefCountStorage } from '../refcount/ref-count-storage.interface.js';
import { type Change, STATE_STORE, type StateStore } from '../stores/state-store.interface.js';
import { StoreError } from '../stores/store.error.js';
import { EventBus } from '../subscriptions/event-bus.js';
import { RecordFeed } from './record-feed.js';
import { Committer, type MeasuredCommit } from './committer.js';
import { Company } from './company.js';
import { Crowd } from './crowd.js';
import { CountedReferences } from './counted-references.js';
import { Deadlines, type Due } from './deadlines.js';
import { LOCK_POLICY } from './locking.module-definition.js';
import { type LockPolicy } from './lock-policy.js';
import { OwnCommits } from './own-commits.js';
import { readRecord } from './record-reader.js';
import { RecentSlots } from './recent-slots.js';
import { type ResourceSlot } from './resource-slot.js';
import { Shard } from './shard.js';

/** A resource as last seen here; looking at the state of one at rest takes a few microseconds. */
export interface SeenResource {
  readonly resourceId: string;
  readonly state: ResourceState;
}

/** Whether the changes of the store are seen. */
export type Sight =
  /** Again: so many resources are now as they were some time before they were last seen, because the store has lost changes. */
  | { readonly isWatching: true; readonly setBack: number }
  | { readonly isWatching: false; readonly cause: unknown };

/**
 * Instances that watch the same thing see its time run out in the same instant: spread over this much, the first is seen by
 * the others before they try. A crash is found out in seconds, beside which it is little.
 */
const JITTER_MS = 250;

/**
 * The one place where resources change. Finds the shard of a resource and lets it apply the command; owns the deadlines,
 * and keeps the shards in step with the store.
 *
 * It promises that an answer is given only after what it says is in the store. It does not promise exactly one try:
 * after an unknown commit a command may be applied to a state that already has its effect, and every command is
 * made so that this says the same again.
 */
@Injectable()
export class LockManager implements OnModuleInit, BeforeApplicationShutdown {
  /** Every commit of this instance, measured. */
  readonly commits$: Observable<MeasuredCommit>;
  /**
   * Every resource that a listing of the store has shown: all there are, while the module is initialised, and again
   * before a gap in the feed is told of.
   */
  readonly listed$: Observable<SeenResource>;
  /** Every change of what is no resource, in the order of the store; what a listing shows counts as changed. */
  readonly others$: Observable<Change>;
  /** That the changes of the store are seen, each time that begins; that they are not, for each reason that is learnt. */
  readonly sight$: Observable<Sight>;
  /** Which of several instances over one store this is; undefined over an embedded one. */
  readonly instance: string | undefined;
  private readonly sight = new Subject<Sight>();
  private readonly shards: readonly Shard[];
  private readonly allDeadlines: Pick<Deadlines<Due>, 'pause' | 'resume'>[] = [];
  private readonly deadlines: Deadlines<ResourceSlot>;
  private readonly feed: RecordFeed;
  private readonly references: CountedReferences;
  private readonly instanceId = randomBytes(6).toString('base64url');
  private commits = 0;
  private watching = false;
  /** Resources that went back since the changes of the store were last seen. */
  private setBack = 0;

  constructor(
    @Inject(STATE_STORE) private readonly store: StateStore,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOCK_POLICY) private readonly policy: LockPolicy,
    private readonly bus: EventBus,
    @Optional() @Inject(REF_COUNT_STORAGE) refCounts?: RefCountStorage,
    @Optional() recent = new RecentSlots(),
    @Optional() @Inject(RANDOM) private readonly random: Random = Math.random,
  ) {
    this.instance = store.shared ? this.instanceId : undefined;
    this.deadlines = this.newDeadlines((slot) => void this.shardOf(slot.resourceId).expire(slot));
    this.references = new CountedReferences(refCounts ?? undefined);
    const listed = new Subject<SeenResource>();
    this.listed$ = listed;
    const others = new Subject<Change>();
    this.others$ = others;
    this.sight$ = this.sight;
    const context = {
      store,
      committer: new Committer(store, clock),
      crowd: store.shared ? new Crowd(clock) : undefined,
      clock,
      company: new Company(clock),
      deadlines: this.deadlines,
      // A repeated request is written only when half of the waiter's time has passed: see `KeyClock.shouldTouch`.
      policy: { ...policy, unheardMs: store.shared ? policy.waiterTtlMs / 2 : 0 },
      references: this.references,
      recent,
      own: new OwnCommits(),
      partitionOf: (resourceId: string) => this.partitionOf(resourceId),
      shownUpTo: (partition: number, revision: number) => this.feed.shownUpTo(partition, revision),
      listingsOf: (partition: number) => this.feed.listingsOf(partition),
      newCommitId: () => `${this.instanceId}.${(++this.commits).toString(36)}`,
      caughtUp: (slot: ResourceSlot) => {
        listed.next(slot);
        bus.missed({ concerns: (resourceId) => resourceId === slot.resourceId });
      },
    };
    this.commits$ = context.committer.commits$;
    this.shards = Array.from({ length: policy.shardCount }, () => new Shard(context));
    this.feed = new RecordFeed(store, clock, {
      own: context.own,
      shardOf: (resourceId) => this.shardOf(resourceId),
      allShards: () => this.shards,
      partitionOf: context.partitionOf,
      listed: (resourceId, state) => listed.next({ resourceId, state }),
      publish: (happened) => this.bus.publish(happened),
      other: (change) => others.next(change),
      missed: (partition, afterRevision, setBack) => this.missed(partition, afterRevision, setBack),
      heard: () => this.heard(),
      unheard: (cause) => this.unheard(cause),
    });
  }

  onModuleInit(): Promise<void> {
    return this.feed.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.deadlines.stop();
    this.feed.stop();
    await Promise.all(this.shards.map((shard) => shard.idle()));
  }

  /** Every change of the store is seen as soon as it is made. */
  get isWatching(): boolean {
    return this.watching;
  }

  /** For answers from what was seen: what was seen some time ago is no answer. */
  assertWatching(operation: string): void {
    if (this.watching) return;
    const message =
      'The changes of the store are not seen at the moment, so that nobody knows here what is held or referred to now: try again.';
    throw new StoreError('STORE_UNAVAILABLE', operation, message);
  }

  /** Resolves when everything is known here that was committed before this revision; see `RecordFeed.caughtUp`. */
  caughtUp(partition: number, revision: number): Promise<void> {
    return this.feed.caughtUp({ partition, revision });
  }

  /** Deadlines in the time in which the changes of the store were seen. */
  newDeadlines<T extends Due>(onDue: (due: T) => void): Deadlines<T> {
    const jitterMs = this.store.shared ? () => this.random() * JITTER_MS : undefined;
    const deadlines = new Deadlines(this.clock, onDue, jitterMs);
    this.allDeadlines.push(deadlines);
    if (!this.watching) deadlines.pause();
    return deadlines;
  }

  execute<C extends Command>(resourceId: string, command: C): Promise<ResultOf<C>> {
    return this.shardOf(resourceId).execute(resourceId, command);
  }

  /** Linearizable, and never waits for commands. */
  async read(resourceId: string): Promise<ResourceState> {
    const { record } = await readRecord(this.store, this.partitionOf(resourceId), resourceId);
    return this.references.attach(record.state, await this.references.load(resourceId));
  }

  /**
   * As last seen here: at once, possibly out of date when other instances write to the same store, and without
   * the references when they are in a storage of the user's own.
   */
  peek(resourceId: string): ResourceState | undefined {
    return this.shardOf(resourceId).find(resourceId)?.state;
  }

  /** Of the record as last seen here; 0 when there is none. */
  revisionOf(resourceId: string): number {
    return this.shardOf(resourceId).find(resourceId)?.revision ?? 0;
  }

  /** Everything that is known here, as last seen, in no order. */
  *resources(): Iterable<SeenResource> {
    for (const shard of this.shards) yield* shard.all();
  }

  /** null when the server does not count. */
  async referenceCount(resourceId: string): Promise<number | null> {
    if (this.policy.refcountMode === 'client') return null;
    const counted = await this.references.load(resourceId);
    return (counted ?? this.peek(resourceId)?.references)?.size ?? 0;
  }

  /** The resources that a node refers to, those included that another instance was told of before the call. */
  async referencedBy(nodeId: string): Promise<readonly string[]> {
    const listed = await this.references.listByNode(nodeId);
    if (listed) return listed;
    this.assertWatching('list');
    if (this.store.shared) await this.feed.caughtUp();
    const found: string[] = [];
    await inTurns(this.resources(), ({ resourceId, state }) => {
      if (state.references.has({ nodeId })) found.push(resourceId);
    });
    return found;
  }

  /** Waiters in all queues. */
  get waiting(): number {
    return this.shards.reduce((waiting, shard) => waiting + shard.waiting, 0);
  }

  /** Resources with anything in memory. */
  get size(): number {
    return this.shards.reduce((size, shard) => size + shard.size, 0);
  }

  /** Deadlines under watch. */
  get watched(): number {
    return this.deadlines.size;
  }

  private heard(): void {
    if (this.watching) return;
    this.watching = true;
    for (const deadlines of this.allDeadlines) deadlines.resume();
    const { setBack } = this;
    this.setBack = 0;
    this.sight.next({ isWatching: true, setBack });
  }

  private unheard(cause: unknown): void {
    if (this.watching) for (const deadlines of this.allDeadlines) deadlines.pause();
    this.watching = false;
    this.sight.next({ isWatching: false, cause });
  }

  /** A record as old as what was shown has not changed since, unless it went back; of one that is not there, nobody knows. */
  private missed(partition: number, afterRevision: number, setBack: ReadonlySet<string>): void {
    this.setBack += setBack.size;
    const changed = (revision: number) => revision === 0 || revision > afterRevision;
    this.bus.missed({
      concerns: (resourceId) =>
        this.partitionOf(resourceId) === partition &&
        (setBack.has(resourceId) || changed(this.revisionOf(resourceId))),
    });
  }

  private shardOf(resourceId: string): Shard {
    return this.shards[fnv1a(resourceId) % this.policy.shardCount]!;
  }

  private partitionOf(resourceId: string): number {
    return this.store.partitionCount === 1 ? 0 : fnv1a(resourceId) % this.store.partitionCount;
  }
}
