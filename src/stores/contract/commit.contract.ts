import assert from 'node:assert/strict';
import { type Item, MAX_KEY_BYTES, MAX_VALUE_BYTES, type Write } from '../state-store.interface.js';
import { StoreError } from '../store.error.js';
import {
  type ContractTest,
  PARTITION,
  committed,
  getOne,
  listAll,
  put,
  remove,
  revisionOf,
} from './harness.js';

/** What `commit`, `commitMany` and `get` promise. */
export function commitContract(test: ContractTest): void {
  test('a committed item can be read with its revision', async (store) => {
    const revision = await committed(store, put('a', 'absent', 'one'));
    assert.deepEqual(await getOne(store, 'a'), { key: 'a', revision, value: 'one' });
  });

  test('a key that was never written is not there', async (store) => {
    assert.equal(await getOne(store, 'nothing'), undefined);
  });

  test('what is written may become a string when it is wanted', async (store) => {
    const revision = await committed(
      store,
      { key: 'a', expect: 'absent', put: { length: 8, toString: () => 'später ☃' } },
      { key: 'b', expect: 'absent', put: { length: MAX_VALUE_BYTES, toString: () => 'shorter' } },
    );
    const items = [
      { key: 'a', revision, value: 'später ☃' },
      { key: 'b', revision, value: 'shorter' },
    ];
    assert.deepEqual(await store.get(PARTITION, ['a', 'b']), items);
    const listed = (await listAll(store)).items;
    assert.deepEqual(listed.toSorted(byKey), items);
    const tooLong = { length: MAX_VALUE_BYTES + 1, toString: () => 'x'.repeat(MAX_VALUE_BYTES + 1) };
    await assert.rejects(store.commit(PARTITION, [{ key: 'c', expect: 'absent', put: tooLong }]), StoreError);
  });

  test('get answers in the order asked, with gaps where there is nothing', async (store) => {
    const first = await committed(store, put('a', 'absent', '1'), put('b', 'absent', '2'));
    assert.deepEqual(await store.get(PARTITION, ['b', 'x', 'a', 'b']), [
      { key: 'b', revision: first, value: '2' },
      undefined,
      { key: 'a', revision: first, value: '1' },
      { key: 'b', revision: first, value: '2' },
    ]);
    assert.deepEqual(await store.get(PARTITION, []), []);
  });

  test('get sees every commit acknowledged before it, also after an earlier read in the same turn', async (store) => {
    let revision: number | 'absent' = 'absent';
    for (let round = 0; round < 20; round++) {
      const writing = committed(store, put('a', revision, `round ${round}`));
      await getOne(store, 'a');
      revision = await writing;
      assert.deepEqual(await getOne(store, 'a'), { key: 'a', revision, value: `round ${round}` });
    }
  });

  test('get shows several keys as of one moment', async (store) => {
    let revision = await committed(store, put('a', 'absent', '0'), put('b', 'absent', '0'));
    const writing = (async () => {
      for (let round = 1; round <= 50; round++) {
        revision = await committed(store, put('a', revision, `${round}`), put('b', revision, `${round}`));
      }
    })();
    let running = true;
    void writing.finally(() => (running = false));
    while (running) {
      const [a, b] = await store.get(PARTITION, ['a', 'b']);
      assert.equal(a?.value, b?.value);
      assert.equal(a?.revision, b?.revision);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await writing;
  });

  test('an expected revision that is not the key’s is a conflict and changes nothing', async (store) => {
    const first = await committed(store, put('a', 'absent', 'one'));
    const second = await committed(store, put('a', first, 'two'));
    for (const expect of [first, second + 1, 0, 'absent'] as const) {
      assert.deepEqual(await store.commit(PARTITION, [put('a', expect, 'three')]), { status: 'conflict' });
    }
    assert.deepEqual(await getOne(store, 'a'), { key: 'a', revision: second, value: 'two' });
  });

  test('a revision expected of a key that is not there is a conflict', async (store) => {
    const revision = await committed(store, put('a', 'absent'));
    assert.deepEqual(await store.commit(PARTITION, [put('b', revision)]), { status: 'conflict' });
    assert.deepEqual(await store.commit(PARTITION, [remove('b', revision)]), { status: 'conflict' });
    assert.equal(await getOne(store, 'b'), undefined);
  });

  test('a commit over several keys applies whole or not at all', async (store) => {
    const a = await committed(store, put('a', 'absent', '1'));
    const b = await committed(store, put('b', 'absent', '1'));
    const spoilt: Write[] = [put('a', a, '2'), put('c', 'absent', '2'), remove('b', b + 1)];
    assert.deepEqual(await store.commit(PARTITION, spoilt), { status: 'conflict' });
    assert.deepEqual(
      (await store.get(PARTITION, ['a', 'b', 'c'])).map((item) => item?.value),
      ['1', '1', undefined],
    );
    const revision = await committed(store, put('a', a, '2'), put('c', 'absent', '2'), remove('b', b));
    assert.deepEqual(await store.get(PARTITION, ['a', 'b', 'c']), [
      { key: 'a', revision, value: '2' },
      undefined,
      { key: 'c', revision, value: '2' },
    ]);
  });

  test('a deleted key is absent, and its old revisions never match again', async (store) => {
    const first = await committed(store, put('a', 'absent', 'one'));
    await committed(store, remove('a', first));
    assert.equal(await getOne(store, 'a'), undefined);
    assert.deepEqual(await store.commit(PARTITION, [put('a', first)]), { status: 'conflict' });
    const second = await committed(store, put('a', 'absent', 'two'));
    assert.ok(second > first);
    assert.deepEqual(await store.commit(PARTITION, [remove('a', first)]), { status: 'conflict' });
  });

  test('revisions are safe integers and strictly grow, over all keys and past deletes', async (store) => {
    let previous = 0;
    for (let round = 0; round < 10; round++) {
      const made = await committed(store, put(`k${round}`, 'absent'));
      const removed = await committed(store, remove(`k${round}`, made));
      assert.ok(Number.isSafeInteger(made) && made > previous, `${made} after ${previous}`);
      assert.ok(removed > made);
      previous = removed;
    }
  });

  test('of many concurrent commits on one key exactly one wins', async (store) => {
    const revision = await committed(store, put('a', 'absent', 'start'));
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, n) => store.commit(PARTITION, [put('a', revision, `${n}`)])),
    );
    const winners = outcomes.flatMap((outcome, n) => (outcome.status === 'committed' ? [n] : []));
    assert.equal(winners.length, 1);
    assert.equal(outcomes.filter((outcome) => outcome.status === 'conflict').length, 49);
    assert.equal((await getOne(store, 'a'))?.value, `${winners[0]}`);
  });

  test('of many concurrent commits that create one key exactly one wins', async (store) => {
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        store.commit(PARTITION, [put('a', 'absent'), put(`own${n}`, 'absent')]),
      ),
    );
    assert.equal(outcomes.filter((outcome) => outcome.status === 'committed').length, 1);
    assert.equal((await listAll(store)).items.length, 2);
  });

  test('commitMany judges its commits independently, and in order those that write one key', async (store) => {
    const outcomes = await Promise.all(
      store.commitMany([
        { partition: PARTITION, writes: [put('a', 'absent', 'first')] },
        { partition: PARTITION, writes: [put('a', 'absent', 'second')] },
        { partition: PARTITION, writes: [put('b', 'absent', 'third')] },
      ]),
    );
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status),
      ['committed', 'conflict', 'committed'],
    );
    for (const [key, index] of [['a', 0] as const, ['b', 2] as const]) {
      assert.equal((await getOne(store, key))?.revision, revisionOf(outcomes[index]!));
    }
    assert.equal((await getOne(store, 'a'))?.value, 'first');
    assert.deepEqual(store.commitMany([]), []);
  });

  test('commitMany makes a key anew that a commit before has deleted, at a later revision', async (store) => {
    const expect = await committed(store, put('a', 'absent', 'old'));
    const outcomes = await Promise.all(
      store.commitMany([
        { partition: PARTITION, writes: [{ key: 'a', expect, delete: true }] },
        { partition: PARTITION, writes: [put('a', 'absent', 'new')] },
      ]),
    );
    const [deleted, made] = outcomes.map(revisionOf);
    assert.ok(expect < deleted! && deleted! < made!, 'each later than the one before');
    assert.deepEqual(await getOne(store, 'a'), { key: 'a', revision: made, value: 'new' });
  });

  test('a bad commit among many is rejected alone', async (store) => {
    const outcomes = await Promise.allSettled(
      store.commitMany([
        { partition: PARTITION, writes: [put('a', 'absent')] },
        { partition: PARTITION, writes: [put('b', 'absent', 'x'.repeat(MAX_VALUE_BYTES + 1))] },
        { partition: PARTITION, writes: [put('c', 'absent')] },
      ]),
    );
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.equal((await listAll(store)).items.length, 2);
  });

  test('keys and values of the largest size are taken, anything over it is refused', async (store) => {
    const key = '€'
      .repeat(Math.floor(MAX_KEY_BYTES / 3))
      .padEnd(MAX_KEY_BYTES - 2 * Math.floor(MAX_KEY_BYTES / 3), 'k');
    assert.equal(Buffer.byteLength(key), MAX_KEY_BYTES);
    const value = 'ü'.repeat(MAX_VALUE_BYTES / 2);
    const revision = await committed(store, put(key, 'absent', value));
    assert.deepEqual(await getOne(store, key), { key, revision, value });
    for (const writes of [
      [put('fine', 'absent'), put(`${key}k`, 'absent')],
      [put('fine', 'absent'), put('k', 'absent', `${value}x`)],
    ]) {
      await assert.rejects(store.commit(PARTITION, writes), isStoreError('STORE_LIMIT'));
    }
    assert.equal((await listAll(store)).items.length, 1);
  });

  test('a commit that writes nothing, or one key twice, is refused', async (store) => {
    for (const writes of [[], [put('a', 'absent', 'one'), put('a', 'absent', 'other')]]) {
      await assert.rejects(store.commit(PARTITION, writes), isStoreError('STORE_LIMIT'));
    }
    assert.deepEqual((await listAll(store)).items, []);
  });

  test('strange keys and values come back as they were', async (store) => {
    const strange = [
      'a\0b',
      'a\0',
      '\0',
      'a',
      'ab',
      'é',
      'e\u0301',
      '😀',
      '\ufeffbom',
      '\uffff',
      ' ',
      '{"a":"\\n"}',
      'a\nb',
    ];
    for (const text of [...strange, '']) await committed(store, put(`k${text}`, 'absent', text));
    const items = await store.get(
      PARTITION,
      strange.map((text) => `k${text}`),
    );
    assert.deepEqual(
      items.map((item) => item?.value),
      strange,
    );
    assert.deepEqual(
      (await listAll(store)).items.map((item) => `${item.key}=${item.value}`).sort(),
      [...strange, ''].map((text) => `k${text}=${text}`).sort(),
    );
  });

  test('a partition does not show the items of another', async (store) => {
    const other = store.partitionCount - 1;
    assert.ok(Number.isInteger(other) && other >= 0);
    await committed(store, put('a', 'absent', 'first'));
    if (other === PARTITION) return;
    assert.deepEqual(await store.get(other, ['a']), [undefined]);
    assert.equal((await store.commit(other, [put('a', 'absent', 'other')])).status, 'committed');
    assert.equal((await getOne(store, 'a'))?.value, 'first');
  });

  test('a closed store refuses every operation, and closing it again does nothing', async (store) => {
    await store.close();
    await store.close();
    await assert.rejects(store.get(PARTITION, ['a']), isStoreError('STORE_UNAVAILABLE'));
    await assert.rejects(store.commit(PARTITION, [put('a', 'absent')]), isStoreError('STORE_UNAVAILABLE'));
    await assert.rejects(store.list(PARTITION), isStoreError('STORE_UNAVAILABLE'));
  });
}

function isStoreError(code: StoreError['code']): (error: unknown) => boolean {
  return (error) => error instanceof StoreError && error.code === code && error.message.length > 0;
}

function byKey(a: Item, b: Item): number {
  return a.key < b.key ? -1 : 1;
}
