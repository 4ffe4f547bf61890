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
} from '../../src/stores/state-store.interface.js';

/** A store that a test can look into and step into. */
export class WrappedStore implements StateStore {
  /** The commits that were tried, in order. */
  commits: (readonly Write[])[] = [];
  gets = 0;
  /** Take the place of the next calls while they are set. */
  onCommit:
    ((writes: readonly Write[], commit: () => Promise<CommitOutcome>) => Promise<CommitOutcome>) | undefined;
  onGet:
    | ((keys: readonly string[], get: () => Promise<(Item | undefined)[]>) => Promise<(Item | undefined)[]>)
    | undefined;
  onList: ((list: () => Promise<Listing>) => Promise<Listing>) | undefined;

  constructor(readonly inner: StateStore) {}

  get partitionCount(): number {
    return this.inner.partitionCount;
  }

  get shared(): boolean {
    return this.inner.shared ?? false;
  }

  open(): Promise<void> {
    return this.inner.open();
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  get(partition: number, keys: readonly string[]): Promise<(Item | undefined)[]> {
    this.gets++;
    const get = () => this.inner.get(partition, keys);
    return this.onGet ? this.onGet(keys, get) : get();
  }

  commit(partition: number, writes: readonly Write[]): Promise<CommitOutcome> {
    this.commits.push(writes);
    const commit = () => this.inner.commit(partition, writes);
    return this.onCommit ? this.onCommit(writes, commit) : commit();
  }

  commitMany(commits: readonly Commit[]): Promise<CommitOutcome>[] {
    return commits.map(({ partition, writes }) => this.commit(partition, writes));
  }

  list(partition: number): Promise<Listing> {
    const list = () => this.inner.list(partition);
    return this.onList ? this.onList(list) : list();
  }

  watch(partition: number, cursor: Cursor, observer: WatchObserver): Unwatch {
    return this.inner.watch(partition, cursor, observer);
  }

  /** Every key in the store. */
  async keys(): Promise<string[]> {
    const keys: string[] = [];
    const { pages } = await this.inner.list(0);
    for await (const page of pages) keys.push(...page.map(({ key }) => key));
    return keys;
  }
}
