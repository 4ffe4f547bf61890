import { type Clock } from '../common/clock.interface.js';
import { type LockEvent } from '../core/events.js';
import { settleEvent } from '../core/settle.js';
import { type Asker, type Chunk } from '../core/chunked-list.js';
import { forEachChunk, type ResourceState } from '../core/state.js';
import { type Change, type Item, type StateStore, type Unwatch } from '../stores/state-store.interface.js';
import { partSource } from './record-reader.js';
import { type ItemName, parseItemKey } from './records/item-keys.js';
import { type DecodedHead, decodeHead, NO_RECORD, noParts, type StoredRecord } from './records/record.js';
import { type ResourceSlot } from './resource-slot.js';
import { type Shard } from './shard.js';

/** A store that fails to list has trouble of its own: it is asked again at this pace. */
const RETRY_MS = 1000;

export interface FeedTarget {
  shardOf(resourceId: string): Shard;
  allShards(): Iterable<Shard>;
  partitionOf(resourceId: string): number;
  /** A listing of the store showed this resource. */
  listed(resourceId: string, state: ResourceState): void;
  publish(resourceId: string, events: readonly LockEvent[]): void;
  /** A change of something else in the store. What a listing shows is a change, too. */
  other(change: Change): void;
  /** What happened to the resources of this partition after the revision was not all shown. */
  missed(partition: number, afterRevision: number): void;
  /** Whether every change is shown as soon as it is made. */
  watching(isWatching: boolean): void;
}

/**
 * Keeps the shards in step with the store: lists everything once, then follows every change in commit order. Events are
 * published from here and from nowhere else, so that every instance sees one order. When the store no longer has all the
 * changes, it lists again and says that some were missed.
 */
export class RecordFeed {
  private readonly unwatch = new Map<number, Unwatch>();
  /** Of each partition that is followed: the newest revision that was shown. */
  private readonly shown = new Map<number, number>();
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

  private async follow(partition: number): Promise<void> {
    const { cursor, pages } = await this.store.list(partition);
    const unlisted = this.knownIn(partition);
    const others: Item[] = [];
    const large = new Map<string, DecodedHead>();
    const parts = new Map<string, Map<string, Item>>();
    for await (const page of pages) {
      for (const item of page) {
        const name = parseItemKey(item.key);
        if (name) this.listItem(item, name, unlisted, large, parts);
        else others.push(item);
      }
    }
    for (const [resourceId, head] of large) this.adoptLarge(resourceId, head, parts.get(resourceId));
    this.forget(unlisted, cursor);
    this.listOthers(partition, others, cursor);
    if (this.stopped) return;
    const watch = this.store.watch(partition, cursor, {
      committed: (changes) => this.committed(partition, changes),
      compacted: () => {
        this.silent(partition);
        this.followAgain(partition);
      },
      interrupted: () => this.silent(partition),
      resumed: () => this.heard(partition),
    });
    this.unwatch.set(partition, watch);
    this.heard(partition);
    const shown = this.shown.get(partition);
    this.shown.set(partition, cursor);
    if (shown !== undefined) this.target.missed(partition, shown);
  }

  private silent(partition: number): void {
    this.unheard.add(partition);
    this.target.watching(false);
  }

  private heard(partition: number): void {
    this.unheard.delete(partition);
    this.target.watching(this.unheard.size === 0);
  }

  private followAgain(partition: number): void {
    if (this.stopped) return;
    this.follow(partition).catch(() => this.clock.after(RETRY_MS, () => this.followAgain(partition)));
  }

  private listItem(
    item: Item,
    { resourceId, part }: ItemName,
    unlisted: Set<string>,
    large: Map<string, DecodedHead>,
    parts: Map<string, Map<string, Item>>,
  ): void {
    if (part !== undefined) {
      const known = parts.get(resourceId) ?? new Map<string, Item>();
      parts.set(resourceId, known.set(part, item));
      return;
    }
    unlisted.delete(resourceId);
    const head = decodeHead(resourceId, item.value, item.revision);
    if (head.parts.size > 0) large.set(resourceId, head);
    else this.adoptListed(resourceId, head.record(noParts));
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

  /** Pages are not of one moment: a record whose parts do not fit together is read again. */
  private adoptLarge(resourceId: string, head: DecodedHead, parts = new Map<string, Item>()): void {
    const complete = Array.from(head.parts).every(
      ([part, revision]) => parts.get(part)?.revision === revision,
    );
    if (!complete) return this.target.shardOf(resourceId).miss(resourceId, head.revision);
    this.adoptListed(resourceId, head.record(partSource(parts)));
  }

  private adoptListed(resourceId: string, record: StoredRecord): void {
    this.target.shardOf(resourceId).adopt(resourceId, record, record.revision);
    this.target.listed(resourceId, record.state);
  }

  /** Before the first listing nothing is; after a gap in the feed, what the listing does not show again is gone. */
  private knownIn(partition: number): Set<string> {
    const known = new Set<string>();
    for (const shard of this.target.allShards()) {
      for (const { resourceId } of shard.all()) {
        if (this.target.partitionOf(resourceId) === partition) known.add(resourceId);
      }
    }
    return known;
  }

  private forget(unlisted: ReadonlySet<string>, cursor: number): void {
    for (const resourceId of unlisted) {
      const shard = this.target.shardOf(resourceId);
      const slot = shard.find(resourceId);
      if (slot && slot.revision <= cursor) shard.adopt(resourceId, NO_RECORD, cursor);
    }
  }

  private committed(partition: number, changes: readonly Change[]): void {
    this.shown.set(partition, changes[0]!.revision);
    for (const change of changes) {
      const name = parseItemKey(change.key);
      if (!name) this.otherChanged(partition, change);
      else if (name.part === undefined) this.headChanged(name.resourceId, change, changes);
    }
  }

  private headChanged(resourceId: string, change: Change, changes: readonly Change[]): void {
    const shard = this.target.shardOf(resourceId);
    const slot = shard.find(resourceId);
    if (change.value === undefined) return shard.adopt(resourceId, NO_RECORD, change.revision);
    const own = slot?.work?.inFlight.find(({ head }) => head === change.value);
    if (slot && own) {
      const { events } = own.batch;
      shard.adoptOwn(slot, own, change.revision);
      return this.target.publish(
        resourceId,
        events.map((event) => settleEvent(event, change.revision)),
      );
    }
    const head = readable(resourceId, change.value, change.revision);
    if (!head) return;
    const written = partsOf(resourceId, changes);
    if (!slot || slot.asOf < change.revision) {
      this.adoptChange(shard, slot, resourceId, change, head, written);
    }
    this.target.publish(
      resourceId,
      head.events((part) => written.get(part)!),
    );
  }

  /** Parts that a commit did not write are as they were. */
  private adoptChange(
    shard: Shard,
    slot: ResourceSlot | undefined,
    resourceId: string,
    { revision }: Change,
    head: DecodedHead,
    written: ReadonlyMap<string, string>,
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

/** An observer must not throw. What another version wrote is left alone; commands for it are refused when they read it. */
function readable(resourceId: string, text: string, revision: number): DecodedHead | undefined {
  try {
    return decodeHead(resourceId, text, revision);
  } catch {
    return undefined;
  }
}

/** Commits to several resources may be shown as one. */
function partsOf(resourceId: string, changes: readonly Change[]): Map<string, string> {
  const parts = new Map<string, string>();
  if (changes.length === 1) return parts;
  for (const { key, value } of changes) {
    const name = parseItemKey(key);
    if (name?.part === undefined || name.resourceId !== resourceId) continue;
    if (value !== undefined) parts.set(name.part, value);
  }
  return parts;
}

function chunksById(state: ResourceState): Map<number, Chunk<Asker>> {
  const chunks = new Map<number, Chunk<Asker>>();
  forEachChunk(state, (chunk) => chunks.set(chunk.id, chunk));
  return chunks;
}
