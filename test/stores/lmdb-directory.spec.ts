import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LmdbStateStore } from '../../src/stores/lmdb/lmdb-state-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { StoreProcess } from '../support/store-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const PAGE = 4096;

let parent: string;
let directory: string;
beforeEach(() => {
  parent = temporaryDirectory();
  directory = join(parent, 'state');
});
afterEach(() => rmSync(parent, { recursive: true }));

/** Every name with its kind and content. */
function snapshot(path: string): Record<string, string> {
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(
    names.map((name) => {
      const file = join(path, name);
      const isFile = lstatSync(file).isFile();
      return [name, isFile ? createHash('sha256').update(readFileSync(file)).digest('hex') : 'not a file'];
    }),
  );
}

async function openStore(clock = new SimulatedClock(), path = directory): Promise<LmdbStateStore> {
  const store = new LmdbStateStore(path, clock);
  await store.open();
  return store;
}

/** Small and long values, enough for a tree of several levels and freed pages. */
async function fill(): Promise<number> {
  const store = await openStore();
  const value = (n: number): string => 'v'.repeat(n % 50 === 0 ? 20_000 : 300);
  const made = await Promise.all(
    Array.from({ length: 3000 }, (_, n) =>
      store.commit(0, [{ key: `k${n}`, expect: 'absent', put: value(n) }]),
    ),
  );
  const revisions = made.map((outcome) => (outcome.status === 'committed' ? outcome.revision : 0));
  await Promise.all(
    revisions.slice(0, 500).map((expect, n) => store.commit(0, [{ key: `k${n}`, expect, delete: true }])),
  );
  await store.close();
  return revisions.at(-1)!;
}

async function expectUnreadable(message: RegExp): Promise<void> {
  const before = snapshot(directory);
  const child = new StoreProcess(directory);
  const answer = await child.tell({ do: 'open' });
  await child.kill();
  expect(answer).toMatchObject({
    code: 'STORE_UNREADABLE',
    message: expect.stringMatching(message) as string,
  });
  expect(snapshot(directory)).toEqual(before);
}

describe('a directory to be made', () => {
  it('is made with its parents', async () => {
    directory = join(parent, 'a', 'b.c', 'd.e');
    await (await openStore()).close();
    expect(readdirSync(directory).sort()).toEqual(['data.mdb', 'holdfast.json', 'lock.mdb']);
  });

  it('may be a fresh volume with only lost+found in it', async () => {
    mkdirSync(join(directory, 'lost+found'), { recursive: true });
    await (await openStore()).close();
  });

  it('is finished by the next start if the first did not live to do it', async () => {
    await fill();
    renameSync(join(directory, 'holdfast.json'), join(directory, 'holdfast.json.new'));
    truncateSync(join(directory, 'data.mdb'), 100);
    const store = await openStore();
    expect((await store.list(0)).cursor).toBeGreaterThan(0);
    await store.close();
    expect(readdirSync(directory).sort()).toEqual(['data.mdb', 'holdfast.json', 'lock.mdb']);
  });

  it('is an error if it cannot be: its parent is a file, or a place where nobody may write', async () => {
    writeFileSync(join(parent, 'file'), '');
    for (const path of [join(parent, 'file', 'state'), '/proc/holdfast-state']) {
      await expect(openStore(undefined, path)).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringContaining(path) as string,
      });
    }
  });
});

describe('revisions', () => {
  it('start at the wall clock, so that wiping the directory does not make them go back', async () => {
    const newest = await fill();
    rmSync(directory, { recursive: true });
    const clock = new SimulatedClock();
    await clock.advance(5000);
    const store = await openStore(clock);
    const outcome = await store.commit(0, [{ key: 'a', expect: 'absent', put: '' }]);
    expect(outcome).toEqual({ status: 'committed', revision: clock.wallMs() * 1000 + 1 });
    expect(outcome.status === 'committed' && outcome.revision > newest).toBe(true);
    await store.close();
  });

  it('go on above the wall clock after an older copy of the directory was put back', async () => {
    await fill();
    const copy = join(parent, 'copy');
    cpSync(directory, copy, { recursive: true });
    const store = await openStore();
    const outcome = await store.commit(0, [{ key: 'lost', expect: 'absent', put: '' }]);
    await store.close();
    const clock = new SimulatedClock();
    await clock.advance(5000);
    const restored = await openStore(clock, copy);
    const next = await restored.commit(0, [{ key: 'next', expect: 'absent', put: '' }]);
    await restored.close();
    if (outcome.status !== 'committed' || next.status !== 'committed') throw new Error('not committed');
    expect(next.revision).toBeGreaterThan(outcome.revision);
  });
});

describe('keys and values that are not well-formed text', () => {
  it('stay apart and come back as they were', async () => {
    const texts = ['\ud800', '\udfff', 'a\ud83db', 'a\ude00b', '\ufffd', 'é\ud800😀\udc00\ufffd', ''];
    const store = await openStore();
    for (const text of texts) {
      expect(await store.commit(0, [{ key: text, expect: 'absent', put: text }])).toMatchObject({
        status: 'committed',
      });
    }
    const items = await store.get(0, texts);
    expect(items.map((item) => item?.value)).toEqual(texts);
    const listed: string[] = [];
    for await (const page of (await store.list(0)).pages) listed.push(...page.map((item) => item.key));
    expect(listed.sort()).toEqual([...texts].sort());
    await store.close();
  });
});

describe('a directory that is left alone', () => {
  it('belongs to somebody else', async () => {
    mkdirSync(directory);
    writeFileSync(join(directory, 'thesis.tex'), 'years of work');
    await expectUnreadable(/not empty.*thesis\.tex/);
  });

  it('is another program’s LMDB database', async () => {
    await fill();
    rmSync(join(directory, 'holdfast.json'));
    await expectUnreadable(/not a Holdfast state directory/);
  });

  it('was written by a later version', async () => {
    await fill();
    writeFileSync(join(directory, 'holdfast.json'), '{"format":"holdfast-state","version":3}');
    await expectUnreadable(/version 3.*reads versions up to 2/);
  });

  it.each(['{"format":"something else"}', 'null', '{', ''])('has a format file of %j', async (text) => {
    await fill();
    writeFileSync(join(directory, 'holdfast.json'), text);
    await expectUnreadable(/holdfast\.json/);
  });

  it('has lost its database', async () => {
    await fill();
    rmSync(join(directory, 'data.mdb'));
    await expectUnreadable(/missing or empty/);
  });
});

describe('a database that is damaged', () => {
  const damages: [string, (file: string, bytes: Buffer) => void][] = [
    ['is empty', (file) => truncateSync(file, 0)],
    ['is a few bytes', (file) => truncateSync(file, 100)],
    ['is cut behind its first page', (file) => truncateSync(file, PAGE)],
    ['is cut behind its headers', (file) => truncateSync(file, 2 * PAGE)],
    ['is cut in half', (file, bytes) => truncateSync(file, bytes.length >> 1)],
    ['lacks its last pages', (file, bytes) => truncateSync(file, bytes.length - 20 * PAGE)],
    ['is garbage', (file, bytes) => writeFileSync(file, Buffer.alloc(bytes.length, 'garbage'))],
    ['is zeroes behind its headers', (file, bytes) => writeFileSync(file, bytes.fill(0, 2 * PAGE))],
    [
      'is noise behind its headers',
      (file, bytes) => writeFileSync(file, noise(bytes, 2 * PAGE, bytes.length)),
    ],
    ['has noise in its second header', (file, bytes) => writeFileSync(file, noise(bytes, PAGE, 2 * PAGE))],
    ['has noise in its first header', (file, bytes) => writeFileSync(file, noise(bytes, 0, PAGE))],
    [
      'has zeroes in one long value',
      (file, bytes) => writeFileSync(file, bytes.fill(0, ...longValue(bytes))),
    ],
    ['has pages that lost an entry', (file, bytes) => writeFileSync(file, shortenLeaves(bytes))],
  ];

  /** Sound pages every one of them, as of an older moment: only the totals tell. */
  function shortenLeaves(bytes: Buffer): Buffer {
    for (let start = 2 * PAGE; start < bytes.length; start += PAGE) {
      const entryBytes = bytes.readUInt16LE(start + 20);
      if (bytes.readUInt16LE(start + 18) === 2 && entryBytes > 2)
        bytes.writeUInt16LE(entryBytes - 2, start + 20);
    }
    return bytes;
  }

  function noise(bytes: Buffer, start: number, end: number): Buffer {
    for (let at = start; at < end; at++) bytes[at] = (at * 7919) >> 3;
    return bytes;
  }

  /** Where the newest kept long value begins: its page says "overflow" and holds our filling. */
  function longValue(bytes: Buffer): [number, number] {
    const { length } = bytes;
    for (let start = length - PAGE; start > 0; start -= PAGE) {
      const isLong =
        bytes.readUInt16LE(start + 18) === 4 && bytes.toString('latin1', start + 40, start + 44) === 'vvvv';
      if (isLong && bytes.readUInt32LE(start) === start / PAGE) return [start, start + PAGE];
    }
    throw new Error('no long value');
  }

  it.each(damages)('because it %s is refused, and nothing is changed', async (_name, damage) => {
    await fill();
    const file = join(directory, 'data.mdb');
    damage(file, readFileSync(file));
    await expectUnreadable(/damaged|missing or empty/);
  });

  it('is not what a crash leaves: a file that ends in a torn page beyond its last commit is opened', async () => {
    await fill();
    const file = join(directory, 'data.mdb');
    writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.alloc(PAGE + 1000, 'torn')]));
    expect(statSync(file).size % PAGE).not.toBe(0);
    const store = await openStore();
    expect(await store.get(0, ['k2999'])).toMatchObject([{ value: 'v'.repeat(300) }]);
    await store.close();
    expect(existsSync(join(directory, 'owner.sock'))).toBe(false);
  });

  it('is not another program’s database in ours’ place, but that is refused too', async () => {
    await fill();
    const foreign = join(parent, 'foreign');
    const { open } = await import('lmdb');
    const database = open(foreign, { useVersions: true, overlappingSync: false });
    await database.put('a', 'b', 1);
    await database.close();
    cpSync(join(foreign, 'data.mdb'), join(directory, 'data.mdb'));
    await expect(openStore()).rejects.toMatchObject({ code: 'STORE_UNREADABLE' });
    expect(readFileSync(join(directory, 'data.mdb'))).toEqual(readFileSync(join(foreign, 'data.mdb')));
  });
});
