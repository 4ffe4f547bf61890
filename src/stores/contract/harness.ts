import assert from 'node:assert/strict';
import { type Skip } from '../../common/contract-runner.js';
import {
  type Change,
  type CommitOutcome,
  type Cursor,
  type Expectation,
  type Item,
  type StateStore,
  type Unwatch,
  type WatchObserver,
  type Write,
} from '../state-store.interface.js';

/** One open store with no items, and how to be rid of it. */
export interface ContractSubject {
  readonly store: StateStore;
  /** Closes the store and opens its state again as a new process would. Left out by stores that forget. */
  readonly reopen?: () => Promise<StateStore>;
  readonly destroy: () => Promise<void>;
}

export type ContractFactory = () => Promise<ContractSubject>;

/** Declares one test that gets a store of its own. */
export type ContractTest = (
  name: string,
  body: (store: StateStore, subject: ContractSubject, skip: Skip) => Promise<void>,
) => void;

/** Every engine has this partition; what is promised is promised per partition. */
export const PARTITION = 0;

export function put(key: string, expect: Expectation, value = 'value'): Write {
  return { key, expect, put: value };
}

export function remove(key: string, expect: number): Write {
  return { key, expect, delete: true };
}

/** The revision of a commit that must succeed. */
export async function committed(store: StateStore, ...writes: Write[]): Promise<number> {
  return revisionOf(await store.commit(PARTITION, writes));
}

export function revisionOf(outcome: CommitOutcome): number {
  assert.equal(outcome.status, 'committed');
  return (outcome as { revision: number }).revision;
}

export async function getOne(store: StateStore, key: string): Promise<Item | undefined> {
  return (await store.get(PARTITION, [key]))[0];
}

export async function listAll(store: StateStore): Promise<{ cursor: Cursor; items: Item[] }> {
  const { cursor, pages } = await store.list(PARTITION);
  const items: Item[] = [];
  for await (const page of pages) items.push(...page);
  return { cursor, items };
}

export function byKey(items: Iterable<Item>): Map<string, Item> {
  return new Map([...items].map((item) => [item.key, item]));
}

/** A watch that remembers what it was shown and lets a test wait for more without a clock. */
export class Recorder implements WatchObserver {
  readonly commits: (readonly Change[])[] = [];
  /** Commits shown when the engine was no longer heard, and when it was again. */
  readonly silences: { readonly from: number; to?: number }[] = [];
  isCompacted = false;
  readonly unwatch: Unwatch;
  private waiting: { done: () => boolean; resolve: () => void }[] = [];

  constructor(store: StateStore, cursor: Cursor) {
    this.unwatch = store.watch(PARTITION, cursor, this);
  }

  committed(changes: readonly Change[]): void {
    this.commits.push(changes);
    this.wake();
  }

  compacted(): void {
    this.isCompacted = true;
    this.wake();
  }

  interrupted(): void {
    assert.ok(
      this.silences.every(({ to }) => to !== undefined),
      'interrupted twice',
    );
    this.silences.push({ from: this.commits.length });
  }

  resumed(): void {
    const silence = this.silences.at(-1);
    assert.ok(silence && silence.to === undefined, 'resumed without having been interrupted');
    silence.to = this.commits.length;
    this.wake();
  }

  get changes(): Change[] {
    return this.commits.flat();
  }

  /** Resolves once this revision was shown; rejects if the watch ends before. */
  async reaches(revision: number): Promise<void> {
    await this.until(() => this.isCompacted || (this.changes.at(-1)?.revision ?? 0) >= revision);
    assert.equal(this.isCompacted, false, 'the watch was compacted');
  }

  async until(done: () => boolean): Promise<void> {
    if (done()) return;
    await new Promise<void>((resolve) => this.waiting.push({ done, resolve }));
  }

  private wake(): void {
    this.waiting = this.waiting.filter(({ done, resolve }) => {
      if (!done()) return true;
      resolve();
      return false;
    });
  }
}
