import { type Item } from '../stores/state-store.interface.js';
import { type FeedTarget } from './feed-target.interface.js';
import { partSource } from './record-reader.js';
import { parseItemKey } from './records/item-keys.js';
import { type DecodedHead, decodeHead, NO_RECORD, noParts, type StoredRecord } from './records/record.js';

/**
 * One listing of a partition, taken over by the shards. It was begun after everything that was known here before it, and so is
 * right where they differ, also where it is older: then the store has lost what was known. What was learnt while it was
 * read stays, unless the listing is newer.
 */
export class RecordListing {
  /** What is no resource. */
  readonly others: Item[] = [];
  /** Resources that were known newer than they are. */
  readonly setBack = new Set<string>();
  private readonly unlisted: Set<string>;
  private readonly large = new Map<string, DecodedHead>();
  private readonly parts = new Map<string, Map<string, Item>>();

  /** `known`: how far each resource had been seen before it began. */
  constructor(
    private readonly target: FeedTarget,
    private readonly known: ReadonlyMap<string, number>,
  ) {
    this.unlisted = new Set(known.keys());
  }

  take(item: Item): void {
    const name = parseItemKey(item.key);
    if (!name) return void this.others.push(item);
    const { resourceId, part } = name;
    if (part !== undefined) {
      const parts = this.parts.get(resourceId) ?? new Map<string, Item>();
      this.parts.set(resourceId, parts.set(part, item));
      return;
    }
    this.unlisted.delete(resourceId);
    const head = decodeHead(resourceId, item.value, item.revision);
    if (head.parts.size > 0) this.large.set(resourceId, head);
    else this.adopt(resourceId, head.record(noParts), item.revision);
  }

  /** Every item was taken. What was known and is not among them is gone. */
  end(cursor: number): void {
    for (const [resourceId, head] of this.large) this.takeLarge(resourceId, head);
    for (const resourceId of this.unlisted) this.adopt(resourceId, NO_RECORD, cursor);
  }

  /** Pages are not of one moment: a record whose parts do not fit together is read again. */
  private takeLarge(resourceId: string, head: DecodedHead): void {
    const parts = this.parts.get(resourceId) ?? new Map<string, Item>();
    const complete = Array.from(head.parts).every(
      ([part, revision]) => parts.get(part)?.revision === revision,
    );
    if (!complete) return this.target.shardOf(resourceId).miss(resourceId, head.revision);
    this.adopt(resourceId, head.record(partSource(parts)), head.revision);
  }

  private adopt(resourceId: string, record: StoredRecord, revision: number): void {
    const shard = this.target.shardOf(resourceId);
    const seenAsOf = this.known.get(resourceId);
    if (shard.adoptListed(resourceId, record, revision, seenAsOf)) this.setBack.add(resourceId);
    if (record !== NO_RECORD) this.target.listed(resourceId, record.state);
  }
}
