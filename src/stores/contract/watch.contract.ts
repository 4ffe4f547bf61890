import assert from 'node:assert/strict';
import { type Change, type Item, type StateStore } from '../state-store.interface.js';
import { type ContractTest, PARTITION, Recorder, byKey, committed, listAll, put, remove } from './harness.js';

/** What `list` and `watch` promise. */
export function watchContract(test: ContractTest): void {
  test('an empty store lists nothing', async (store) => {
    assert.deepEqual((await listAll(store)).items, []);
  });

  test('a listing has every item once, over several pages', async (store) => {
    const keys = Array.from({ length: 2500 }, (_, n) => `key ${n}`);
    await Promise.all(
      store.commitMany(keys.map((key) => ({ partition: PARTITION, writes: [put(key, 'absent', key)] }))),
    );
    const { items } = await listAll(store);
    assert.deepEqual(items.map((item) => item.key).sort(), [...keys].sort());
    assert.ok(items.every((item) => item.value === item.key));
  });

  test('a listing with a prefix has the keys that begin so and no others', async (store) => {
    const wanted = Array.from({ length: 1200 }, (_, n) => `b/${n}`);
    const keys = [...wanted, 'a/1', 'b', 'b.', 'b0', 'c/1', 'é'];
    await Promise.all(
      store.commitMany(keys.map((key) => ({ partition: PARTITION, writes: [put(key, 'absent', key)] }))),
    );
    const { pages } = await store.list(PARTITION, 'b/');
    const listed: string[] = [];
    for await (const page of pages) listed.push(...page.map((item) => item.key));
    assert.deepEqual(listed.sort(), [...wanted].sort());
  });

  test('of several partitions, the cursor of a listing is the revision of the last commit', async (store) => {
    if (store.partitionCount === 1) return;
    const revision = await committed(store, put('a', 'absent'));
    assert.equal((await store.list(PARTITION)).cursor, revision);
  });

  test('a watch shows commits whole and in commit order, tombstones included', async (store) => {
    const { cursor } = await store.list(PARTITION);
    const recorder = new Recorder(store, cursor);
    const first = await committed(store, put('b', 'absent', '1'), put('a', 'absent', '2'));
    const second = await committed(store, remove('b', first), put('c', 'absent', '3'));
    await recorder.reaches(second);
    assert.deepEqual(recorder.commits, [
      [
        { key: 'b', revision: first, value: '1' },
        { key: 'a', revision: first, value: '2' },
      ],
      [
        { key: 'b', revision: second, value: undefined },
        { key: 'c', revision: second, value: '3' },
      ],
    ]);
  });

  test('a conflict shows nothing', async (store) => {
    const { cursor } = await store.list(PARTITION);
    const recorder = new Recorder(store, cursor);
    const first = await committed(store, put('a', 'absent'));
    await store.commit(PARTITION, [put('a', 'absent')]);
    const last = await committed(store, put('a', first));
    await recorder.reaches(last);
    assert.deepEqual(revisions(recorder), [first, last]);
  });

  test('what a watch shows can be read', async (store) => {
    const { cursor } = await store.list(PARTITION);
    const recorder = new Recorder(store, cursor);
    void store.commit(PARTITION, [put('a', 'absent', 'shown')]);
    await recorder.until(() => recorder.commits.length > 0);
    const [item] = await store.get(PARTITION, ['a']);
    assert.deepEqual(item, recorder.changes[0]);
  });

  test('concurrent commits are shown in the order of their revisions, to every watcher alike', async (store) => {
    const { cursor } = await store.list(PARTITION);
    const recorders = [new Recorder(store, cursor), new Recorder(store, cursor)];
    const made = await Promise.all(
      Array.from({ length: 100 }, (_, n) => committed(store, put(`k${n}`, 'absent'))),
    );
    const sorted = [...made].sort((a, b) => a - b);
    for (const recorder of recorders) {
      await recorder.reaches(sorted.at(-1)!);
      assert.deepEqual(revisions(recorder), sorted);
    }
  });

  test('a commit made by an observer is shown after the one it answers, to every watcher', async (store) => {
    const { cursor } = await store.list(PARTITION);
    let answered: Promise<number> | undefined;
    store.watch(PARTITION, cursor, {
      committed: ([change]) => {
        if (change?.key === 'question') answered = committed(store, put('answer', 'absent'));
      },
      compacted: () => assert.fail('compacted'),
    });
    const recorder = new Recorder(store, cursor);
    const first = await committed(store, put('both watch by now', 'absent'));
    await recorder.reaches(first);
    const asked = await committed(store, put('question', 'absent'));
    await recorder.until(() => recorder.commits.length === 3);
    assert.deepEqual(revisions(recorder), [first, asked, await answered]);
  });

  test('after unwatch nothing more is shown', async (store) => {
    const { cursor } = await store.list(PARTITION);
    const stopped = new Recorder(store, cursor);
    const going = new Recorder(store, cursor);
    const first = await committed(store, put('a', 'absent'));
    await stopped.reaches(first);
    stopped.unwatch();
    stopped.unwatch();
    const neverShown = new Recorder(store, cursor);
    neverShown.unwatch();
    const second = await committed(store, put('a', first));
    await going.reaches(second);
    assert.deepEqual(revisions(stopped), [first]);
    assert.deepEqual(neverShown.commits, []);
  });

  test('a watch resumes behind the last revision it saw', async (store) => {
    const made: number[] = [];
    for (let n = 0; n < 10; n++) made.push(await committed(store, put(`k${n}`, 'absent')));
    const resumed = new Recorder(store, made[3]!);
    made.push(await committed(store, put('later', 'absent')));
    await resumed.reaches(made.at(-1)!);
    assert.deepEqual(revisions(resumed), made.slice(4));
  });

  test('a watch from the newest revision shows only what comes after it', async (store) => {
    await committed(store, put('a', 'absent'));
    const { cursor } = await store.list(PARTITION);
    const recorder = new Recorder(store, cursor);
    const next = await committed(store, put('b', 'absent'));
    await recorder.reaches(next);
    assert.deepEqual(revisions(recorder), [next]);
  });

  test('a cursor from before everything gets everything, or is told to list again', async (store) => {
    const made: number[] = [];
    for (let n = 0; n < 10; n++) made.push(await committed(store, put(`k${n}`, 'absent')));
    const recorder = new Recorder(store, 0);
    await recorder.until(() => recorder.isCompacted || recorder.commits.length === made.length);
    if (!recorder.isCompacted) return assert.deepEqual(revisions(recorder), made);
    const witness = new Recorder(store, made.at(-1)!);
    const last = await committed(store, put('later', 'absent'));
    await witness.reaches(last);
    assert.deepEqual(recorder.commits, [], 'a compacted watch is over');
  });

  test('list and then watch miss nothing while commits go on', async (store) => {
    const keys = Array.from({ length: 40 }, (_, n) => `k${n}`);
    const writer = new Writer(store, keys);
    await writer.round();
    const writing = writer.rounds(30);
    const { cursor, items } = await listAll(store);
    const recorder = new Recorder(store, cursor);
    await writing;
    await recorder.reaches(writer.newest);
    const seen = byKey(items);
    for (const change of recorder.changes) applyChange(seen, change);
    assert.deepEqual([...seen.keys()].sort(), [...writer.state.keys()].sort());
    for (const [key, item] of writer.state) assert.deepEqual(seen.get(key), item);
  });
}

function revisions(recorder: Recorder): number[] {
  return recorder.commits.map((changes) => changes[0]!.revision);
}

/** As a consumer does it: a change older than what the listing showed is a repetition. */
function applyChange(state: Map<string, Item>, { key, revision, value }: Change): void {
  if ((state.get(key)?.revision ?? 0) > revision) return;
  if (value === undefined) state.delete(key);
  else state.set(key, { key, revision, value: value.toString() });
}

/** Keeps writing and deleting all its keys, and knows what must be there. */
class Writer {
  readonly state = new Map<string, Item>();
  newest = 0;

  constructor(
    private readonly store: StateStore,
    private readonly keys: readonly string[],
  ) {}

  async rounds(count: number): Promise<void> {
    for (let n = 0; n < count; n++) await this.round();
  }

  async round(): Promise<void> {
    await Promise.all(this.keys.map((key, n) => this.write(key, n)));
  }

  private async write(key: string, n: number): Promise<void> {
    const old = this.state.get(key);
    const doomed = old !== undefined && (old.revision + n) % 3 === 0;
    const write = doomed
      ? remove(key, old.revision)
      : put(key, old?.revision ?? 'absent', `after ${old?.revision}`);
    const revision = await committed(this.store, write);
    this.newest = Math.max(this.newest, revision);
    if ('put' in write) this.state.set(key, { key, revision, value: write.put.toString() });
    else this.state.delete(key);
  }
}
