import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type GroupResult } from '../../src/stores/lmdb/group-committer.js';
import { type Appended } from '../../src/stores/lmdb/journal-file.js';
import { Journal } from '../../src/stores/lmdb/journal.js';
import { JournaledDatabase } from '../../src/stores/lmdb/journaled-database.js';
import { LmdbDatabase } from '../../src/stores/lmdb/lmdb-database.js';
import { LmdbStateStore } from '../../src/stores/lmdb/lmdb-state-store.js';
import { type SavedChange } from '../../src/stores/lmdb/saved-change.js';
import { type Item } from '../../src/stores/state-store.interface.js';
import { SimulatedClock, settled } from '../support/simulated-clock.js';
import { StoreProcess } from '../support/store-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const MEGABYTE = 1024 * 1024;
const VALUE = 'v'.repeat(60_000);

let directory: string;
beforeEach(() => void (directory = temporaryDirectory()));
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

const journals = (): string[] =>
  readdirSync(directory)
    .filter((name) => name.startsWith('journal-'))
    .map((name) => join(directory, name))
    .sort();

async function openStore(): Promise<LmdbStateStore> {
  const store = new LmdbStateStore(directory, new SimulatedClock());
  await store.open();
  return store;
}

function revisionOf(outcome: unknown): number {
  expect(outcome).toMatchObject({ status: 'committed' });
  return (outcome as { revision: number }).revision;
}

function changes(name: string, count: number, revision: number, value: string): SavedChange[] {
  return Array.from({ length: count }, (_, n) => ({ key: `${name} ${n}`, revision, value }));
}

/** Of a directory that is empty. */
async function newDatabase(): Promise<{ lmdb: LmdbDatabase; database: JournaledDatabase }> {
  const lmdb = LmdbDatabase.open(directory, 1);
  const opening = { directory, nonce: 1, floor: 1000, fresh: true, assertCurrent: () => {} };
  return { lmdb, database: await JournaledDatabase.takeOver(lmdb, opening) };
}

/** One frame for each value, in the journal of a process that was killed. */
async function leaveJournal(values: readonly string[]): Promise<number[]> {
  const child = new StoreProcess(directory);
  expect(await child.tell({ do: 'open' })).toBeNull();
  const revisions: number[] = [];
  for (const put of values) {
    const expected = revisions.at(-1) ?? ('absent' as const);
    revisions.push(
      revisionOf(await child.tell({ do: 'commit', writes: [{ key: 'a', expect: expected, put }] })),
    );
  }
  await child.kill();
  return revisions;
}

describe('a journal that was left behind', () => {
  it('is saved by the next owner and removed, with what starts that failed have left', async () => {
    const revisions = await leaveJournal(['one', 'two']);
    writeFileSync(join(directory, 'journal-17-0'), '');
    const store = await openStore();
    expect(await store.get(0, ['a'])).toEqual([{ key: 'a', revision: revisions[1], value: 'two' }]);
    expect(journals()).toHaveLength(2);
    expect(journals().join()).not.toContain('journal-17-');
    await store.close();
    expect(journals()).toEqual([]);
  });

  it('lacks its last frame if a crash came in between: then that was never acknowledged', async () => {
    const revisions = await leaveJournal(['one', 'two', 'three']);
    const [file] = journals();
    truncateSync(file!, readFileSync(file!).indexOf('three') + 4);
    const store = await openStore();
    expect(await store.get(0, ['a'])).toEqual([{ key: 'a', revision: revisions[1], value: 'two' }]);
    const outcome = await store.commit(0, [{ key: 'a', expect: revisions[1]!, put: 'again' }]);
    expect(revisionOf(outcome)).toBeGreaterThan(revisions[1]!);
    await store.close();
  });

  const damages: [string, (files: string[]) => void][] = [
    ['a frame in its middle is damaged', ([file]) => damage(file!, 'two')],
    ['its first frame is damaged', ([file]) => damage(file!, 'one')],
    ['one of its files is gone', ([, file]) => rmSync(file!)],
    ['it is gone', (files) => files.forEach((file) => rmSync(file))],
  ];
  it.each(damages)('is refused if %s, and nothing is changed', async (_name, spoil) => {
    await leaveJournal(['one', 'two', 'three']);
    spoil(journals());
    const files = [...journals(), join(directory, 'data.mdb')];
    const before = files.map((file) => readFileSync(file));
    await expect(openStore()).rejects.toMatchObject({
      code: 'STORE_UNREADABLE',
      message: expect.stringMatching(/journal.*Nothing was changed.*backup/) as string,
    });
    expect(files.map((file) => readFileSync(file))).toEqual(before);
    expect(journals()).toEqual(files.slice(0, -1));
  });

  function damage(file: string, value: string): void {
    const bytes = readFileSync(file);
    bytes[bytes.indexOf(value)]! ^= 1;
    writeFileSync(file, bytes);
  }
});

describe('saving', () => {
  /** Values enough for the journal to be saved several times. */
  async function fill(store: LmdbStateStore): Promise<Map<string, number>> {
    const revisions = new Map<string, number>();
    for (let round = 0; round < 5; round++) {
      const keys = Array.from({ length: 100 }, (_, n) => `k${round * 50 + n}`);
      const outcomes = await Promise.all(
        keys.map((key) =>
          store.commit(0, [{ key, expect: revisions.get(key) ?? 'absent', put: VALUE + key }]),
        ),
      );
      outcomes.forEach((outcome, n) => revisions.set(keys[n]!, revisionOf(outcome)));
      expect(await listed(store)).toEqual(revisions);
    }
    return revisions;
  }

  async function listed(store: LmdbStateStore): Promise<Map<string, number>> {
    const items: Item[] = [];
    for await (const page of (await store.list(0)).pages) items.push(...page);
    for (const { key, value } of items) expect(value).toBe(VALUE + key);
    const revisions = items.map(({ key, revision }) => [key, revision] as const);
    expect(new Set(items.map(({ key }) => key)).size).toBe(items.length);
    return new Map(revisions.sort());
  }

  it('goes on beside commits, which are seen all the time, and writes the two files over and over', async () => {
    const store = await openStore();
    const revisions = new Map([...(await fill(store))].sort());
    expect(await listed(store)).toEqual(revisions);
    const bytes = journals().map((file) => statSync(file).size);
    expect(Math.max(...bytes)).toBeLessThan(20 * MEGABYTE);
    await store.close();
    const again = await openStore();
    expect(await listed(again)).toEqual(revisions);
    await again.close();
  });

  it.skipIf(process.platform !== 'linux')('goes past the page cache where it can', async () => {
    const store = await openStore();
    const file = journals()[0]!;
    let possible = true;
    try {
      closeSync(openSync(file, constants.O_RDWR | constants.O_DIRECT));
    } catch {
      possible = false;
    }
    const isOpen = (name: string): boolean =>
      existsSync(`/proc/self/fd/${name}`) && readlinkSync(`/proc/self/fd/${name}`) === file;
    const open = readdirSync('/proc/self/fd').filter(isOpen);
    const flags = open.map(
      (name) => /flags:\s*(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'utf8'))![1]!,
    );
    expect(flags.map((octal) => (parseInt(octal, 8) & constants.O_DIRECT) !== 0)).toEqual([possible]);
    await store.close();
  });

  it.skipIf(process.platform !== 'linux')(
    'goes through it in a process that may not use much memory',
    async () => {
      const child = new StoreProcess(directory, { addressBlocks: 4 * MEGABYTE });
      expect(await child.tell({ do: 'open' })).toBeNull();
      const writes = changes('long', 100, 0, VALUE).map(({ key }) => ({
        key,
        expect: 'absent' as const,
        put: VALUE,
      }));
      const revision = revisionOf(await child.tell({ do: 'commit', writes }));
      await child.kill();
      const store = await openStore();
      expect(await store.get(0, ['long 99'])).toEqual([{ key: 'long 99', revision, value: VALUE }]);
      await store.close();
    },
  );

  it('shows what is being saved, and what has come since instead of it', async () => {
    const { lmdb, database } = await newDatabase();
    let goOn = (): void => {};
    vi.spyOn(lmdb, 'ready').mockReturnValueOnce(new Promise((resolve) => (goOn = resolve)));
    expect(await database.write(changes('long', 150, 1001, VALUE), 1001)).toEqual({ status: 'written' });
    expect(await database.write(changes('long', 1, 1002, ''), 1002)).toEqual({ status: 'written' });
    for (const [key, revision] of [['long 0', 1002] as const, ['long 1', 1001] as const]) {
      expect(database.item(key)).toMatchObject({ revision });
      expect(database.unsavedChanges().get(key)).toMatchObject({ revision });
    }
    goOn();
    await database.close();
  });

  it('lists deletes and what is under a prefix, whether saved or not', async () => {
    const store = await openStore();
    const revisions = await fill(store);
    await store.commit(0, [{ key: 'k7', expect: revisions.get('k7')!, delete: true }]);
    const other = revisionOf(await store.commit(0, [{ key: 'k8x', expect: 'absent', put: '' }]));
    const keys: string[] = [];
    for await (const page of (await store.list(0, 'k8')).pages) keys.push(...page.map(({ key }) => key));
    expect(keys.sort()).toEqual(['k8', ...Array.from({ length: 10 }, (_, n) => `k8${n}`), 'k8x']);
    expect(await store.get(0, ['k7', 'k8x'])).toEqual([
      undefined,
      { key: 'k8x', revision: other, value: '' },
    ]);
    expect((await listedKeys(store)).includes('k7')).toBe(false);
    await store.close();
  });

  async function listedKeys(store: LmdbStateStore): Promise<string[]> {
    const keys: string[] = [];
    for await (const page of (await store.list(0)).pages) keys.push(...page.map(({ key }) => key));
    return keys;
  }
});

describe('a directory of the version before', () => {
  it('is taken over, and says from then on that older ones cannot read it', async () => {
    const store = await openStore();
    const revision = revisionOf(await store.commit(0, [{ key: 'a', expect: 'absent', put: 'old' }]));
    await store.close();
    writeFileSync(join(directory, 'holdfast.json'), '{"format":"holdfast-state","version":1}');
    const again = await openStore();
    expect(await again.get(0, ['a'])).toEqual([{ key: 'a', revision, value: 'old' }]);
    expect(readFileSync(join(directory, 'holdfast.json'), 'utf8')).toContain('"version":2');
    await again.close();
  });
});

describe('a journal that cannot be saved', () => {
  it('takes commits up to a limit, refuses them beyond, and goes on when it can be saved', async () => {
    const { lmdb, database } = await newDatabase();
    const failing = vi
      .spyOn(lmdb, 'write')
      .mockResolvedValue({ status: 'unknown', cause: new Error('no disk') });
    let revision = 1001;
    const write = (): Promise<GroupResult> => database.write(changes('long', 150, revision, VALUE), revision);
    let result = await write();
    for (; result.status === 'written' && revision < 1020; result = await write()) revision++;
    expect(result).toMatchObject({ status: 'failed', cause: { message: 'no disk' } });
    const journalled = journals().reduce((bytes, file) => bytes + statSync(file).size, 0);
    expect(journalled).toBeLessThan(100 * MEGABYTE);
    expect(database.item('long 0')).toMatchObject({ revision: revision - 1 });
    failing.mockRestore();
    expect(await write()).toEqual({ status: 'written' });
    await database.close();
  });
});

describe('closing', () => {
  const LONG = changes('long', 150, 1001, VALUE);
  const SHORT = changes('short', 1000, 1002, '');

  /** More than one transaction takes, in the journal only, and a group in doubt behind it. */
  async function inDoubt(lmdb: LmdbDatabase, database: JournaledDatabase): Promise<void> {
    expect(await database.write(SHORT, 1002)).toEqual({ status: 'written' });
    vi.spyOn(lmdb, 'isOwned').mockReturnValueOnce(true).mockReturnValueOnce(false);
    expect(await database.write([{ key: 'lost', revision: 1003, value: '' }], 1003)).toMatchObject({
      status: 'unknown',
    });
  }

  async function expectAfterReopening(expected: readonly SavedChange[]): Promise<void> {
    expect(journals()).toEqual([]);
    const lmdb = LmdbDatabase.open(directory, 2);
    expect(lmdb.record()).toEqual({ revision: 1003, journal: undefined });
    expect([...lmdb.page('', false, 2000)]).toHaveLength(expected.length);
    for (const change of expected) expect(lmdb.item(change.key)).toEqual(change);
    await lmdb.close();
  }

  it('saves everything while somebody waits for a group in doubt to be decided', async () => {
    const { lmdb, database } = await newDatabase();
    await inDoubt(lmdb, database);
    const reading = database.ready().catch((error: unknown) => error);
    await database.close();
    expect(await reading).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expectAfterReopening(SHORT);
  });

  it('saves everything, too, when both wait for a saving that is under way', async () => {
    const { lmdb, database } = await newDatabase();
    let goOn = (): void => {};
    const held = new Promise<void>((resolve) => (goOn = resolve));
    const ready = vi.spyOn(lmdb, 'ready').mockReturnValueOnce(held);
    expect(await database.write(LONG, 1001)).toEqual({ status: 'written' });
    expect(ready, 'a saving').toHaveBeenCalledTimes(1);
    await inDoubt(lmdb, database);
    const reading = database.ready();
    await settled();
    const closing = database.close();
    goOn();
    await Promise.allSettled([reading, closing]);
    await expectAfterReopening([...LONG, ...SHORT]);
  });
});

describe('a journal that its owner is still writing to', () => {
  /** Of the owner 1, who has gone on in the second file before the first was saved. */
  async function journalInBothFiles(): Promise<void> {
    const lmdb = LmdbDatabase.open(directory, 1);
    lmdb.takeOwnership({ revision: 1000, journal: 1 }, () => {});
    const journal = new Journal(directory, 1);
    for (const revision of [1001, 1002, 1003]) {
      if (revision === 1003) journal.turnOver();
      await journal.append(changes(`${revision}`, 1, revision, ''), revision);
    }
    journal.close();
    await lmdb.close();
  }

  async function expectTaken(lmdb: LmdbDatabase, assertCurrent: () => void): Promise<void> {
    const opening = { directory, nonce: 2, floor: 0, fresh: false, assertCurrent };
    const database = await JournaledDatabase.takeOver(lmdb, opening);
    expect(lmdb.page('', false, 10).map(({ key }) => key)).toEqual(['1001 0', '1002 0', '1003 0']);
    await database.close();
  }

  it('is not taken for damaged because the second file goes on where the first was not finished yet', async () => {
    await journalInBothFiles();
    const [first] = journals();
    const whole = readFileSync(first!);
    truncateSync(first!, whole.length - 1);
    let asked = 0;
    await expectTaken(LmdbDatabase.open(directory, 2), () => {
      if (++asked === 2) writeFileSync(first!, whole);
    });
  });

  it('is not taken for damaged because of what the record said before it could no longer change', async () => {
    await journalInBothFiles();
    const lmdb = LmdbDatabase.open(directory, 2);
    const take = lmdb.takeOwnership.bind(lmdb);
    const record = vi.spyOn(lmdb, 'record').mockReturnValue({ revision: 900, journal: 17 });
    vi.spyOn(lmdb, 'takeOwnership').mockImplementation((...args) => {
      record.mockRestore();
      return take(...args);
    });
    await expectTaken(lmdb, () => {});
  });
});

describe('ownership', () => {
  it('that passes on half way through a saving leaves the record as it was: the next owner has to read the journal', async () => {
    const first = LmdbDatabase.open(directory, 1);
    first.takeOwnership({ revision: 1000, journal: 1 }, () => {});
    const second = LmdbDatabase.open(directory, 2);
    function* changes(): Iterable<SavedChange> {
      for (let n = 0; n < 1000; n++) {
        if (n === 500) second.takeOwnership(undefined, () => {});
        yield { key: `${n}`, revision: 1001, value: '' };
      }
    }
    expect(await first.write(changes(), { revision: 2000, journal: 1 })).toEqual({ status: 'fenced' });
    expect(second.record()).toEqual({ revision: 1000, journal: 1 });
    expect(second.item('0')).toMatchObject({ revision: 1001 });
    await first.close();
    await second.close();
  });

  it.each<[string, Appended]>([
    ['is being written', { status: 'written' }],
    ['cannot be written, and has not been cut off yet,', { status: 'failed', cause: new Error('no disk') }],
  ])('that passes on while a group %s leaves its fate open', async (_name, appended) => {
    const { lmdb, database } = await newDatabase();
    vi.spyOn(lmdb, 'isOwned').mockReturnValueOnce(true).mockReturnValueOnce(false);
    vi.spyOn(Journal.prototype, 'append').mockResolvedValueOnce(appended);
    const change = { key: 'a', revision: 1001, value: 'late' };
    expect(await database.write([change], 1001)).toMatchObject({
      status: 'unknown',
      cause: { code: 'STORE_IN_USE' },
    });
    expect(database.item('a')).toBeUndefined();
    await database.close();
  });
});
