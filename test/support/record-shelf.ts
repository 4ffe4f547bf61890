import { type Command } from '../../src/core/commands.js';
import { type LockEvent } from '../../src/core/events.js';
import { type Policy } from '../../src/core/policy.js';
import { type Result } from '../../src/core/results.js';
import { settle, settleEvent } from '../../src/core/settle.js';
import { EMPTY_STATE, type ResourceState } from '../../src/core/state.js';
import { transition } from '../../src/core/transition.js';
import { combine } from '../../src/locking/batch.js';
import { partSource } from '../../src/locking/record-reader.js';
import { headKey, parseItemKey } from '../../src/locking/records/item-keys.js';
import { isOwnItem } from '../../src/locking/records/lists.js';
import { encodeRecord } from '../../src/locking/records/encode-record.js';
import { decodeHead, NO_RECORD, type StoredRecord } from '../../src/locking/records/record.js';
import { type Item, type Write } from '../../src/stores/state-store.interface.js';
import { DEFAULT_POLICY } from './default-policy.js';

const NOW_MS = 1_767_225_600_000;

/** One resource and its items in the store, committed as the manager does, with every expectation checked. */
export class RecordShelf {
  readonly items = new Map<string, Item>();
  /** Of the last commit. */
  writes: readonly Write[] = [];
  state: ResourceState = EMPTY_STATE;
  events: readonly LockEvent[] = [];
  record: StoredRecord = NO_RECORD;
  private revision = 1_767_225_600_000_000;
  private commits = 0;

  constructor(
    readonly policy: Policy = DEFAULT_POLICY,
    readonly resourceId = 'sha256:layer',
  ) {}

  /** In as many commits as it takes; `each` is called after every one. */
  run(commands: readonly Command[], each?: () => void): Result[] {
    const results: Result[] = [];
    while (results.length < commands.length) {
      results.push(...this.commit(commands.slice(results.length)));
      each?.();
    }
    return results;
  }

  /** In one commit, whatever its size, without events: a short way to a large record. */
  fill(commands: readonly Command[]): void {
    let { state } = this;
    for (const command of commands) state = transition(state, command, NOW_MS, this.policy).state;
    this.write({ state, events: [] });
  }

  /** The record as a reader finds it. */
  decoded(): { record: StoredRecord; events: readonly LockEvent[] } {
    const head = this.items.get(headKey(this.resourceId));
    if (!head) return { record: NO_RECORD, events: [] };
    const decoded = decodeHead(this.resourceId, head.value, head.revision);
    const parts = this.parts();
    for (const [part, revision] of decoded.parts) {
      if (parts.get(part)?.revision !== revision) throw new Error(`part ${part} is not as the head says`);
    }
    if (parts.size !== decoded.parts.size) throw new Error('an item was left behind');
    return {
      record: decoded.record(partSource(parts)),
      events: decoded.events((part) => parts.get(part)!.value),
    };
  }

  /** Goes on from what a reader finds, as another instance would. */
  reread(): void {
    this.record = this.decoded().record;
    this.state = this.record.state;
  }

  private commit(commands: readonly Command[]): readonly Result[] {
    const batch = combine(this.state, commands, NOW_MS, this.policy);
    if (batch.state !== this.state) this.write(batch);
    return batch.results;
  }

  private write(batch: { state: ResourceState; events: readonly LockEvent[] }): void {
    const commitId = `shelf.${++this.commits}`;
    const encoded = encodeRecord(this.resourceId, this.record, batch.state, {
      commitId,
      events: batch.events,
      othersRead: true,
    });
    this.revision += 7;
    this.apply(encoded.writes);
    const { revision } = this;
    this.events = batch.events.map((event) => settleEvent(event, revision));
    const { head, spilled } = encoded;
    const state = settle(batch.state, revision);
    this.record = head === undefined ? NO_RECORD : { state, head, revision, spilled };
    this.state = this.record.state;
  }

  private apply(writes: readonly Write[]): void {
    this.writes = writes;
    for (const { key, expect } of writes) {
      if ((this.items.get(key)?.revision ?? 'absent') !== expect) throw new Error(`conflict on ${key}`);
    }
    for (const write of writes) {
      if ('delete' in write) this.items.delete(write.key);
      else
        this.items.set(write.key, { key: write.key, revision: this.revision, value: write.put.toString() });
    }
  }

  private parts(): Map<string, Item> {
    const parts = new Map<string, Item>();
    for (const [key, item] of this.items) {
      const part = parseItemKey(key)?.part;
      if (part !== undefined) parts.set(part, item);
    }
    return parts;
  }
}

/** Plain data to compare. The revision of a chunk that travels in the head means nothing. */
export function plain(state: ResourceState): unknown {
  return JSON.parse(
    JSON.stringify(state, (_name, value: unknown) => {
      const chunk = value as { id?: number; bytes?: number; entries?: readonly unknown[] } | null;
      if (!chunk || typeof chunk !== 'object' || !chunk.entries) return value;
      return isOwnItem(chunk as Parameters<typeof isOwnItem>[0]) ? chunk : { ...chunk, revision: 'head' };
    }),
  );
}
