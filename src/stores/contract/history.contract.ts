import assert from 'node:assert/strict';
import { type Cursor, type Item, type StateStore, type Write } from '../state-store.interface.js';
import {
  type ContractSubject,
  type ContractTest,
  PARTITION,
  Recorder,
  byKey,
  committed,
  getOne,
  listAll,
  put,
  remove,
  revisionOf,
} from './harness.js';

/** Set it to see a failed history again; the seed is in the name of the test. */
const SEED_VARIABLE = 'HOLDFAST_SEED';

const STEPS = 150;

const FORGETS = 'the subject has no reopen';

/** What must hold over time: across reopening, and through any history. */
export function historyContract(test: ContractTest): void {
  test('reopening keeps items with their revisions, and revisions go on growing', async (store, subject, skip) => {
    if (!subject.reopen) return skip(FORGETS);
    const kept = await committed(store, put('kept', 'absent', 'value'));
    const doomed = await committed(store, put('doomed', 'absent'));
    const newest = await committed(store, remove('doomed', doomed));
    const reopened = await subject.reopen();
    assert.deepEqual((await listAll(reopened)).items, [{ key: 'kept', revision: kept, value: 'value' }]);
    assert.equal(await getOne(reopened, 'doomed'), undefined);
    assert.deepEqual(await reopened.commit(PARTITION, [put('doomed', doomed)]), { status: 'conflict' });
    assert.ok((await committed(reopened, put('doomed', 'absent'))) > newest);
  });

  test('closing settles the commits under way, and what it acknowledges is kept', async (store, {
    reopen,
  }) => {
    const outcomes: string[] = [];
    for (let n = 0; n < 20; n++) {
      store.commit(PARTITION, [put(`k${n}`, 'absent')]).then(
        ({ status }) => outcomes.push(status),
        () => outcomes.push('rejected'),
      );
    }
    const reopened = reopen ? await reopen() : await store.close();
    assert.equal(outcomes.length, 20);
    if (!reopened) return;
    const kept = (await listAll(reopened)).items.length;
    assert.equal(kept, outcomes.filter((outcome) => outcome === 'committed').length);
  });

  test('a watch resumed after reopening shows everything since, or is told to list again', async (store, subject, skip) => {
    if (!subject.reopen) return skip(FORGETS);
    const before = await committed(store, put('a', 'absent'));
    const after = await committed(store, put('b', 'absent'));
    const recorder = new Recorder(await subject.reopen(), before);
    await recorder.until(() => recorder.isCompacted || recorder.commits.length > 0);
    if (!recorder.isCompacted)
      assert.deepEqual(recorder.changes[0], { key: 'b', revision: after, value: 'value' });
  });

  const seed = Number(process.env[SEED_VARIABLE] ?? Date.now() % 1_000_000);
  test(`a random history agrees with a simple model (${SEED_VARIABLE}=${seed})`, async (_store, subject) => {
    const history = new History(subject, randomFrom(seed));
    await history.begin();
    for (let step = 0; step < STEPS; step++) await history.step();
    await history.end();
  });
}

/** mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The model is a map: a batch of commits is applied to it one by one, which for each key is what the store must do. */
class History {
  private store: StateStore;
  private readonly model = new Map<string, Item>();
  private newest = 0;
  private watched = new Map<string, Item>();
  private recorder!: Recorder;
  private shown = 0;

  constructor(
    private readonly subject: ContractSubject,
    private readonly random: () => number,
  ) {
    this.store = subject.store;
  }

  async begin(): Promise<void> {
    const { cursor, items } = await listAll(this.store);
    this.watched = byKey(items);
    this.watch(cursor);
  }

  async step(): Promise<void> {
    const choice = this.random();
    if (choice < 0.8) await this.commitBatch();
    else if (choice < 0.97) await this.checkReads();
    else await this.reopen();
  }

  async end(): Promise<void> {
    await this.checkReads();
    await this.catchUp();
    assert.deepEqual(byKey((await listAll(this.store)).items), this.model);
    assert.deepEqual(this.watched, this.model);
  }

  private async commitBatch(): Promise<void> {
    const batch = Array.from({ length: 1 + this.below(6) }, () => this.someWrites());
    const outcomes = this.store.commitMany(batch.map((writes) => ({ partition: PARTITION, writes })));
    const made: number[] = [];
    const written: string[] = [];
    for (const [n, writes] of batch.entries()) {
      const outcome = await outcomes[n]!;
      const holds = writes.every(({ key, expect }) => (this.model.get(key)?.revision ?? 'absent') === expect);
      assert.equal(outcome.status, holds ? 'committed' : 'conflict');
      if (!holds) continue;
      made.push(revisionOf(outcome));
      for (const { key } of writes) written.push(`${key}@${made.at(-1)}`);
      this.apply(writes, made.at(-1)!);
    }
    assert.equal(new Set(written).size, written.length, 'a key was written twice at one revision');
    for (const revision of made)
      assert.ok(revision > this.newest, `revision ${revision} after ${this.newest}`);
    this.newest = Math.max(this.newest, ...made);
  }

  private apply(writes: readonly Write[], revision: number): void {
    for (const write of writes) {
      if ('put' in write)
        this.model.set(write.key, { key: write.key, revision, value: write.put.toString() });
      else this.model.delete(write.key);
    }
  }

  private async checkReads(): Promise<void> {
    const keys = Array.from({ length: 4 }, () => this.someKey());
    assert.deepEqual(
      await this.store.get(PARTITION, keys),
      keys.map((key) => this.model.get(key)),
    );
  }

  private async reopen(): Promise<void> {
    if (!this.subject.reopen) return;
    await this.catchUp();
    assert.deepEqual(this.watched, this.model);
    this.store = await this.subject.reopen();
    await this.begin();
    assert.deepEqual(this.watched, this.model);
  }

  private watch(cursor: Cursor): void {
    this.recorder = new Recorder(this.store, cursor);
    this.shown = this.newest;
  }

  private async catchUp(): Promise<void> {
    if (this.newest > this.shown) await this.recorder.reaches(this.newest);
    for (const { key, revision, value } of this.recorder.changes) {
      if (value === undefined) this.watched.delete(key);
      else this.watched.set(key, { key, revision, value: value.toString() });
    }
  }

  /** One to three keys; mostly what is expected is true, so that histories get somewhere. */
  private someWrites(): Write[] {
    const keys = new Set(Array.from({ length: 1 + this.below(3) }, () => this.someKey()));
    return [...keys].map((key) => {
      const item = this.model.get(key);
      const expect = this.random() < 0.9 ? (item?.revision ?? 'absent') : this.wrongExpectation();
      if (expect !== 'absent' && this.random() < 0.3) return remove(key, expect);
      return put(key, expect, `value ${this.below(1000)}`);
    });
  }

  private wrongExpectation(): number | 'absent' {
    return this.random() < 0.5 ? 'absent' : this.newest - this.below(5);
  }

  private someKey(): string {
    return `key\0${this.below(12)}`;
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }
}
