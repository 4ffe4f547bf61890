import { type IKeyValue } from 'etcd3';
import { type Clock } from '../../common/clock.interface.js';
import { decodeExact } from '../exact-utf8.js';
import { assertCommittable } from '../limits.js';
import {
  type Commit,
  type CommitOutcome,
  type Cursor,
  type Item,
  type Listing,
  type StateStore,
  type Unwatch,
  type WatchObserver,
  type Write,
} from '../state-store.interface.js';
import { StoreError } from '../store.error.js';
import { etcdError } from './etcd-faults.js';
import { after, EtcdKeys } from './etcd-keys.js';
import { assertUnchanged, type Marker, openMarker } from './etcd-marker.js';
import { EtcdMembers } from './etcd-members.js';
import { type EtcdSettings } from './etcd-settings.js';
import { EtcdTransaction } from './etcd-transaction.js';
import { EtcdWatch } from './etcd-watch.js';

/** Some hundred kilobytes of ordinary items. */
const ITEMS_PER_PAGE = 500;

/** etcd's default for one transaction is 128 operations; one of them reads the marker. */
const KEYS_PER_READ = 127;

interface Serving {
  readonly members: EtcdMembers;
  readonly marker: Marker;
}

/**
 * The state in etcd, shared by any number of processes: `etcd://h1,h2,h3`.
 *
 * Promises the port's guarantees through the loss of any minority of members. Reads are linearizable, every call ends within the
 * configured time, and a state that is not the one opened is neither read nor written.
 * Does not promise: that a commit of any size is taken (etcd's limits, docs/engines.md), or that revisions go on growing over a backup
 * that is restored without `--bump-revision`.
 */
export class EtcdStateStore implements StateStore {
  readonly partitionCount = 1;
  readonly shared = true;

  private readonly keys: EtcdKeys;
  private readonly watches = new Set<EtcdWatch>();
  private state: Serving | undefined;

  constructor(
    private readonly settings: EtcdSettings,
    keyPrefix: string,
    private readonly clock: Clock,
  ) {
    this.keys = new EtcdKeys(keyPrefix);
  }

  async open(): Promise<void> {
    if (this.state) return;
    const members = new EtcdMembers(this.settings, this.clock);
    try {
      this.state = { members, marker: await openMarker(members, this.keys, this.clock) };
    } catch (error) {
      members.close();
      throw etcdError('open', error);
    }
  }

  async close(): Promise<void> {
    for (const watch of this.watches) watch.stop();
    this.state?.members.close();
    this.state = undefined;
  }

  async get(_partition: number, keys: readonly string[]): Promise<(Item | undefined)[]> {
    const serving = this.serving('get');
    const items: (Item | undefined)[] = [];
    let moment: string | undefined;
    for (let at = 0; at < keys.length; at += KEYS_PER_READ) {
      const page = keys.slice(at, at + KEYS_PER_READ);
      const { found, revision } = await this.readKeys(serving, page, moment);
      moment = revision;
      for (const [index, key] of page.entries()) {
        const kv = found[index];
        items.push(kv && itemOf(key, kv, serving.marker.base));
      }
    }
    return items;
  }

  commit(partition: number, writes: readonly Write[]): Promise<CommitOutcome> {
    return this.commitMany([{ partition, writes }])[0]!;
  }

  /** In one transaction, as far as they are small and write different keys. */
  commitMany(commits: readonly Commit[]): Promise<CommitOutcome>[] {
    const transactions: EtcdTransaction[] = [];
    const latest = new Map<string, Promise<CommitOutcome>>();
    const outcomes = commits.map(({ partition, writes }) => {
      const before = writes.flatMap(({ key }) => latest.get(key) ?? []);
      const outcome =
        before.length === 0
          ? this.enter(writes, transactions)
          : Promise.allSettled(before).then(() => this.commit(partition, writes));
      for (const { key } of writes) latest.set(key, outcome);
      return outcome;
    });
    for (const transaction of transactions) void transaction.send();
    return outcomes;
  }

  async list(_partition: number, prefix = ''): Promise<Listing> {
    const { members, marker } = this.serving('list');
    const { kvs, header } = await members.read('list', (client, options) =>
      client.kv.range({ key: this.keys.marker }, options),
    );
    assertUnchanged('list', marker, kvs[0]);
    const cursor = Number(header.revision) + marker.base;
    return { cursor, pages: this.pages(prefix, header.revision) };
  }

  watch(_partition: number, cursor: Cursor, observer: WatchObserver): Unwatch {
    const { members, marker } = this.serving('watch');
    const watch = new EtcdWatch(members, this.keys, marker, cursor, observer);
    this.watches.add(watch);
    void watch.run().finally(() => this.watches.delete(watch));
    return () => watch.stop();
  }

  /** All as of one revision: that of the first page. */
  private async *pages(prefix: string, revision: string): AsyncIterable<readonly Item[]> {
    const { key, range_end } = this.keys.beginningWith(prefix);
    let from = key;
    for (;;) {
      const { members, marker } = this.serving('list');
      const { kvs, more } = await members.read('list', (client, options) =>
        client.kv.range({ key: from, range_end, revision, limit: ITEMS_PER_PAGE }, options),
      );
      if (kvs.length > 0) yield kvs.map((kv) => itemOf(this.keys.nameOf(kv.key), kv, marker.base));
      if (!more) return;
      from = after(kvs.at(-1)!.key);
    }
  }

  /** Without a moment, as of now. */
  private async readKeys(
    { members, marker }: Serving,
    keys: readonly string[],
    moment: string | undefined,
  ): Promise<{ found: (IKeyValue | undefined)[]; revision: string }> {
    const at = moment === undefined ? {} : { revision: moment };
    const ranges = keys.map((key) => ({ request_range: { key: this.keys.of(key), ...at } }));
    const success = [{ request_range: { key: this.keys.marker } }, ...ranges];
    const { responses, header } = await members.read('get', (client, options) =>
      client.kv.txn({ success }, options),
    );
    const [state, ...found] = responses.map(({ response_range }) => response_range.kvs[0]);
    assertUnchanged('get', marker, state);
    return { found, revision: moment ?? header.revision };
  }

  private async enter(writes: readonly Write[], transactions: EtcdTransaction[]): Promise<CommitOutcome> {
    const { members, marker } = this.serving('commit');
    assertCommittable(writes);
    let transaction = transactions.at(-1);
    if (!transaction?.takes(writes)) {
      transaction = new EtcdTransaction({ members, marker, keys: this.keys });
      transactions.push(transaction);
    }
    return transaction.add(writes);
  }

  private serving(operation: string): Serving {
    if (this.state) return this.state;
    throw new StoreError('STORE_UNAVAILABLE', operation, 'The etcd store is not open.');
  }
}

function itemOf(key: string, { mod_revision, value }: IKeyValue, base: number): Item {
  return { key, revision: Number(mod_revision) + base, value: decodeExact(value, 0, value.length) };
}
