import { type Clock } from '../common/clock.interface.js';
import { settleEvent } from '../core/settle.js';
import { type Asker, type Chunk } from '../core/chunked-list.js';
import { forEachChunk, type ResourceState } from '../core/state.js';
import {
  type Change,
  type Item,
  type StateStore,
  type Text,
  type Unwatch,
} from '../stores/state-store.interface.js';
import { StoreError } from '../stores/store.error.js';
import { type ResourceEvents } from '../subscriptions/event-bus.js';
import { FeedProgress } from './feed-progress.js';
import { type FeedTarget } from './feed-target.interface.js';
import { RecordListing } from './record-listing.js';
import { isPart, parseItemKey } from './records/item-keys.js';
import { type DecodedHead, decodeHead, NO_RECORD } from './records/record.js';
import { type Attempt, type ResourceSlot, Work } from './resource-slot.js';
import { type Shard } from './shard.js';

/** A store that fails to list has trouble of its own: it is asked again at this pace. */
const RETRY_MS = 1000;

/** A watch that is further behind than this is in trouble, and whoever waits for it is better told so. */
const CATCH_UP_MS = 3000;

/**
 * The newest revision of an etcd that others write to may be theirs, and is never shown. The next heartbeat of an instance is, within
 * three seconds of the last.
 */
const CATCH_UP_WITH_ALL_MS = 6000;

const COMPACTED = new Error('it no longer has all changes since; everything is listed again');

/**
 * Keeps the shards in step with the store: lists everything once, then follows every change in commit order. Events are
 * published from here and from nowhere else, so that every instance sees one order. When the store no longer has all the
 * changes, it lists again and says that some were missed.
 */
export class RecordFeed {
  private readonly unwatch = new Map<number, Unwatch>();
  private readonly progress = new FeedProgress();
  /** By partition: what else than resources was shown. */
  private readonly others = new Map<number, Set<string>>();
  /** Partitions whose changes are not shown for now. */
  private readonly unheard = new Set<number>();
  private stopped = false;

  constructor(
    private readonly store: StateStore,
    private readonly clock: Clock,
    private readonly target: FeedTarget,
  ) {}

  async start(): Promise<void> {
    const partitions = [...Array(this.store.partitionCount).keys()];
    for (const partition of partitions) this.unheard.add(partition);
    for (const partition of partitions) await this.follow(partition);
  }

  stop(): void {
    this.stopped = true;
    for (const unwatch of this.unwatch.values()) unwatch();
    this.unwatch.clear();
  }

  listingsOf(partition: number): number {
    return this.progress.listingsOf(partition);
  }

  /**
   * Resolves when everything has been shown that was committed before the call; to a partition of which a revision is known, before
   * that. Rejects when that takes too long.
   */
  async caughtUp(known?: { readonly partition: number; readonly revision: number }): Promise<void> {
    const partitions = [...Array(this.store.partitionCount).keys()];
    const newest = await Promise.all(
      partitions.map(async (partition) =>
        partition === known?.partition ? known.revision : (await this.store.list(partition)).cursor,
      ),
    );
    const withinMs = known ? CATCH_UP_MS : CATCH_UP_WITH_ALL_MS;
    await Promise.all(newest.map((at, partition) => this.shownUpTo(partition, at, withinMs)));
  }

  /** Resolves when everything up to this revision has been shown. Rejects when that takes too long. */
  shownUpTo(partition: number, revision: number, withinMs = CATCH_UP_MS): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.clock.after(withinMs, () => {
        stop();
        reject(new StoreError('STORE_UNAVAILABLE', 'watch', 'changes of the store are seen late: try again'));
      });
      const stop = this.progress.until(partition, revision, () => {
        cancel();
        resolve();
      });
    });
  }

  private async follow(partition: number): Promise<void> {
    const listing = new RecordListing(this.target, this.knownIn(partition));
    const { cursor, pages } = await this.store.list(partition);
    for await (const page of pages) for (const item of page) listing.take(item);
    listing.end(cursor);
    this.listOthers(partition, listing.others, cursor);
    if (this.stopped) return;
    const watch = this.store.watch(partition, cursor, {
      committed: (changes) => this.committed(partition, changes),
      compacted: () => {
        this.silent(partition, COMPACTED);
        this.followAgain(partition);
      },
      interrupted: (cause) => this.silent(partition, cause),
      resumed: () => this.heard(partition),
    });
    this.unwatch.set(partition, watch);
    const shown = this.progress.of(partition);
    this.progress.list(partition, cursor);
    if (shown !== undefined) this.target.missed(partition, shown, listing.setBack);
    this.heard(partition);
  }

  private silent(partition: number, cause: unknown): void {
    this.unheard.add(partition);
    this.target.unheard(cause);
  }

  private heard(partition: number): void {
    this.unheard.delete(partition);
    if (this.unheard.size === 0) this.target.heard();
  }

  private followAgain(partition: number): void {
    if (this.stopped) return;
    this.follow(partition).catch((error: unknown) => {
      if (this.stopped) return;
      this.silent(partition, error);
      this.clock.after(RETRY_MS, () => this.followAgain(partition));
    });
  }

  /** What was known and is not listed again was deleted, some time before. */
  private listOthers(partition: number, listed: readonly Item[], cursor: number): void {
    const known = this.others.get(partition) ?? [];
    const others = new Set(listed.map(({ key }) => key));
    this.others.set(partition, others);
    for (const item of listed) this.target.other(item);
    for (const key of known) {
      if (!others.has(key)) this.target.other({ key, revision: cursor, value: undefined });
    }
  }

  private otherChanged(partition: number, change: Change): void {
    const others = this.others.get(partition)!;
    if (change.value === undefined) others.delete(change.key);
    else others.add(change.key);
    this.target.other(change);
  }

  /** How far each resource has been seen. */
  private knownIn(partition: number): Map<string, number> {
    const known = new Map<string, number>();
    for (const shard of this.target.allShards()) {
      for (const { resourceId, asOf } of shard.all()) {
        if (this.target.partitionOf(resourceId) === partition) known.set(resourceId, asOf);
      }
    }
    return known;
  }

  private committed(partition: number, changes: readonly Change[]): void {
    const happened: ResourceEvents[] = [];
    let parts: PartsByResource | undefined;
    for (const change of changes) {
      const own = this.isOwn(change.by) ? ownEvents(change.by, change) : undefined;
      if (own) {
        happened.push(own);
        continue;
      }
      const name = parseItemKey(change.key);
      if (!name) this.otherChanged(partition, change);
      else if (name.part === undefined) {
        parts ??= changes.length === 1 ? NO_PARTS : partsIn(changes);
        const events = this.headChanged(
          name.resourceId,
          change,
          parts.get(name.resourceId) ?? NOTHING_WRITTEN,
        );
        if (events) happened.push(events);
      }
    }
    if (happened.length > 0) this.target.publish(happened);
    this.progress.reach(partition, changes[0]!.revision);
  }

  /** Other managers in this process have marks of their own, if they use the same store. */
  private isOwn(by: object | undefined): by is Work {
    return by instanceof Work && by.keeper.own === this.target.own;
  }

  /** What is to be told of it. `written`: the parts of the resource that were written with the head. */
  private headChanged(resourceId: string, change: Change, written: WrittenParts): ResourceEvents | undefined {
    const shard = this.target.shardOf(resourceId);
    const slot = shard.find(resourceId);
    if (change.value === undefined) {
      shard.adopt(resourceId, NO_RECORD, change.revision);
      return undefined;
    }
    const inFlight = slot?.work && ownEvents(slot.work, change);
    const text = change.value.toString();
    const landed = this.target.own.shown(text, change.revision);
    if (inFlight) return inFlight;
    if (slot && landed && slot.asOf >= change.revision) return eventsOf(slot, landed, change.revision);
    const head = readable(resourceId, text, change.revision);
    if (!head) return undefined;
    if (!slot || slot.asOf < change.revision) {
      this.adoptChange(shard, slot, resourceId, change, head, written);
    }
    return { resourceId, events: head.events((part) => written.get(part)!) };
  }

  /** Parts that a commit did not write are as they were. */
  private adoptChange(
    shard: Shard,
    slot: ResourceSlot | undefined,
    resourceId: string,
    { revision }: Change,
    head: DecodedHead,
    written: WrittenParts,
  ): void {
    const known = slot && chunksById(slot.state);
    let complete = true;
    for (const [part, expected] of head.parts) {
      complete &&= written.has(part) || known?.get(Number(part.slice(1)))?.revision === expected;
    }
    if (!complete) return shard.miss(resourceId, revision);
    const record = head.record((part, id) => {
      const text = written.get(part);
      return text === undefined ? { chunk: known!.get(id)! } : { text, revision };
    });
    shard.adopt(resourceId, record, revision);
  }
}

/** What is to be told of a commit that is still in flight here, if this is what it wrote. */
function ownEvents({ slot, keeper, inFlight }: Work, change: Change): ResourceEvents | undefined {
  const { value, revision } = change;
  const attempt = value === undefined ? undefined : inFlight.find(({ head }) => isSameText(head, value));
  if (!attempt) return undefined;
  keeper.adoptOwn(slot, attempt, revision);
  return eventsOf(slot, attempt, revision);
}

/** Most stores show what they were given. */
function isSameText(head: Text | undefined, value: Text): boolean {
  return head === value || head?.toString() === value.toString();
}

function eventsOf({ resourceId }: ResourceSlot, attempt: Attempt, revision: number): ResourceEvents {
  attempt.isShown = true;
  return { resourceId, events: attempt.batch.events.map((event) => settleEvent(event, revision)) };
}

/** An observer must not throw. What another version wrote is left alone; commands for it are refused when they read it. */
function readable(resourceId: string, text: string, revision: number): DecodedHead | undefined {
  try {
    return decodeHead(resourceId, text, revision);
  } catch {
    return undefined;
  }
}

/** By name of the part, its text. */
type WrittenParts = ReadonlyMap<string, string>;

const NOTHING_WRITTEN: WrittenParts = new Map();
/** Commits to several of them may be shown as one. */
type PartsByResource = ReadonlyMap<string, WrittenParts>;
const NO_PARTS: PartsByResource = new Map();

function partsIn(changes: readonly Change[]): PartsByResource {
  const all = new Map<string, Map<string, string>>();
  for (const { key, value } of changes) {
    const name = value === undefined || !isPart(key) ? undefined : parseItemKey(key);
    if (name?.part === undefined || value === undefined) continue;
    const parts = all.get(name.resourceId) ?? new Map<string, string>();
    all.set(name.resourceId, parts.set(name.part, value.toString()));
  }
  return all;
}

function chunksById(state: ResourceState): Map<number, Chunk<Asker>> {
  const chunks = new Map<number, Chunk<Asker>>();
  forEachChunk(state, (chunk) => chunks.set(chunk.id, chunk));
  return chunks;
}
