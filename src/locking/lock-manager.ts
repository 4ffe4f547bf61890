import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnModuleInit,
  Optional,
} from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { type Observable } from 'rxjs';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { type Command, type ResultOf } from '../core/commands.js';
import { fnv1a } from '../core/fnv1a.js';
import { type ResourceState } from '../core/state.js';
import { REF_COUNT_STORAGE, type RefCountStorage } from '../refcount/ref-count-storage.interface.js';
import { STATE_STORE, type StateStore } from '../stores/state-store.interface.js';
import { EventBus } from '../subscriptions/event-bus.js';
import { RecordFeed } from './record-feed.js';
import { Committer, type MeasuredCommit } from './committer.js';
import { CountedReferences } from './counted-references.js';
import { Deadlines } from './deadlines.js';
import { LOCK_POLICY } from './locking.module-definition.js';
import { type LockPolicy } from './lock-policy.js';
import { readRecord } from './record-reader.js';
import { type ResourceSlot } from './resource-slot.js';
import { Shard } from './shard.js';

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
  private readonly shards: readonly Shard[];
  private readonly deadlines: Deadlines<ResourceSlot>;
  private readonly feed: RecordFeed;
  private readonly references: CountedReferences;
  private readonly instanceId = randomBytes(6).toString('base64url');
  private commits = 0;

  constructor(
    @Inject(STATE_STORE) private readonly store: StateStore,
    @Inject(CLOCK) clock: Clock,
    @Inject(LOCK_POLICY) private readonly policy: LockPolicy,
    private readonly bus: EventBus,
    @Optional() @Inject(REF_COUNT_STORAGE) refCounts?: RefCountStorage,
  ) {
    this.deadlines = new Deadlines(clock, (slot) => void this.shardOf(slot.resourceId).expire(slot));
    this.references = new CountedReferences(refCounts ?? undefined);
    const context = {
      store,
      committer: new Committer(store, clock),
      clock,
      deadlines: this.deadlines,
      policy,
      references: this.references,
      partitionOf: (resourceId: string) => this.partitionOf(resourceId),
      newCommitId: () => `${this.instanceId}.${(++this.commits).toString(36)}`,
    };
    this.commits$ = context.committer.commits$;
    this.shards = Array.from({ length: policy.shardCount }, () => new Shard(context));
    this.feed = new RecordFeed(store, clock, {
      shardOf: (resourceId) => this.shardOf(resourceId),
      allShards: () => this.shards,
      partitionOf: context.partitionOf,
      publish: (resourceId, events) => this.bus.publish(resourceId, events),
    });
  }

  onModuleInit(): Promise<void> {
    return this.feed.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.deadlines.stop();
    this.feed.stop();
    await Promise.all(this.shards.flatMap((shard) => Array.from(shard.all(), (slot) => slot.work?.done)));
  }

  execute<C extends Command>(resourceId: string, command: C): Promise<ResultOf<C>> {
    return this.shardOf(resourceId).submit(resourceId, command);
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
    return this.shardOf(resourceId).find(resourceId)?.record.revision ?? 0;
  }

  /** Everything that is known here, as last seen, in no order. */
  *resources(): Iterable<{ readonly resourceId: string; readonly state: ResourceState }> {
    for (const shard of this.shards) {
      for (const { resourceId, state } of shard.all()) yield { resourceId, state };
    }
  }

  /** null when the server does not count. */
  async referenceCount(resourceId: string): Promise<number | null> {
    if (this.policy.refcountMode === 'client') return null;
    const counted = await this.references.load(resourceId);
    return (counted ?? this.peek(resourceId)?.references)?.size ?? 0;
  }

  /** The resources that a node refers to. */
  async referencedBy(nodeId: string): Promise<readonly string[]> {
    const listed = await this.references.listByNode(nodeId);
    if (listed) return listed;
    const found: string[] = [];
    for (const { resourceId, state } of this.resources()) {
      if (state.references.has({ nodeId })) found.push(resourceId);
    }
    return found;
  }

  /** Resources with anything in memory. */
  get size(): number {
    return this.shards.reduce((size, shard) => size + shard.size, 0);
  }

  /** Deadlines under watch. */
  get watched(): number {
    return this.deadlines.size;
  }

  private shardOf(resourceId: string): Shard {
    return this.shards[fnv1a(resourceId) % this.policy.shardCount]!;
  }

  private partitionOf(resourceId: string): number {
    return this.store.partitionCount === 1 ? 0 : fnv1a(resourceId) % this.store.partitionCount;
  }
}
