import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LmdbStateStore } from '../../src/stores/lmdb/lmdb-state-store.js';
import { type Item, type Write } from '../../src/stores/state-store.interface.js';
import { StoreProcess } from '../support/store-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { RecordedDisk } from './recorded-disk.js';

const SOURCE = join(import.meta.dirname, 'programs/disk-recorder.c');
const hasCompiler = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;

/** In memory, where flushing takes no time: what is not on disk is left out, not lost. */
const MEMORY = '/dev/shm';

/** With the clock that far back, revisions grow only because the directory says how far they are. */
const BACK_THEN = {
  turn: async () => undefined,
  wallMs: () => 0,
  monotonicMs: () => 0,
  after: () => () => {},
};

type State = ReadonlyMap<string, Item>;

let directory: string;
beforeEach(() => {
  directory = existsSync(MEMORY) ? mkdtempSync(join(MEMORY, 'holdfast-')) : temporaryDirectory();
});
afterEach(() => rmSync(directory, { recursive: true }));

/** What several processes do one after another, and the state after each of their answers. */
class Workload {
  readonly states: State[] = [new Map()];
  readonly trace = join(directory, 'trace');
  private readonly served = join(directory, 'served');
  private child!: StoreProcess;

  constructor(private readonly library: string) {}

  async run(): Promise<void> {
    await this.start();
    await this.commit({ a: 'one' });
    await this.commit({ b: 'two', c: 'three' });
    await this.commit({ a: undefined, b: 'four' });
    await this.child.kill();

    await this.start();
    await this.commit({ a: 'again' });
    for (let saved = 0; saved < 2; saved++) {
      for (let n = 0; n < 9; n++) await this.commit(longValues(`${saved}/${n}`));
      await this.commit({ b: undefined, [`after ${saved}`]: '' });
      await this.commit({ b: `${saved}` });
    }
    await this.close();

    await this.start();
    await this.commit({ a: undefined });
    await this.child.kill();
    await this.start();
    await this.close();
  }

  private async start(): Promise<void> {
    const env = { LD_PRELOAD: this.library, DISK_TRACE: this.trace, DISK_DIRECTORY: this.served };
    this.child = new StoreProcess(this.served, { env });
    expect(await this.child.tell({ do: 'open' })).toBeNull();
    this.states.push(this.states.at(-1)!);
  }

  private async close(): Promise<void> {
    expect(await this.child.tell({ do: 'close' })).toBeNull();
    await this.child.kill();
    this.states.push(this.states.at(-1)!);
  }

  private async commit(values: Record<string, string | undefined>): Promise<void> {
    const state = new Map(this.states.at(-1));
    const writes = Object.entries(values).map(([key, put]): Write => {
      const expected = state.get(key)?.revision;
      if (put !== undefined) return { key, expect: expected ?? 'absent', put };
      return { key, expect: expected!, delete: true };
    });
    const outcome = await this.child.tell({ do: 'commit', writes });
    expect(outcome).toMatchObject({ status: 'committed' });
    const { revision } = outcome as { revision: number };
    for (const [key, value] of Object.entries(values)) {
      if (value === undefined) state.delete(key);
      else state.set(key, { key, revision, value });
    }
    this.states.push(state);
  }
}

/** Nine times this and the journal is saved. */
function longValues(text: string): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`long ${n}`, text.padEnd(60_000, '.')]));
}

/**
 * The next start finds what was acknowledged, and perhaps what was being committed; it goes on from there and leaves nothing lying
 * about.
 */
async function expectSound(path: string, before: State, after: State): Promise<void> {
  const store = new LmdbStateStore(path, BACK_THEN);
  await store.open();
  const found = new Map<string, Item>();
  for await (const page of (await store.list(0)).pages) for (const item of page) found.set(item.key, item);
  if (!isDeepStrictEqual(found, after)) expect(found).toEqual(before);
  const outcome = await store.commit(0, [{ key: 'next', expect: 'absent', put: '' }]);
  const newest = Math.max(...[...before.values()].map(({ revision }) => revision));
  expect(outcome.status === 'committed' && outcome.revision > newest).toBe(true);
  await store.close();
  expect(readdirSync(path).sort()).toEqual(['data.mdb', 'holdfast.json', 'lock.mdb']);
  rmSync(path, { recursive: true });
}

/** The ways in which the directory can be found if everything ends now, except those that the next step has in common with this one. */
function* endings(disk: RecordedDisk, random: () => boolean): Iterable<[string, (path: string) => void]> {
  const { kind } = disk.next!;
  if (kind !== 'A' && kind !== 'S') yield ['a kill', (path) => disk.makeAsKilled(path)];
  if (!disk.isUnsettled && !'WD'.includes(kind)) return;
  if (disk.isUnsettled) yield ['a power cut', (path) => disk.makeAsCutOff(path, () => false)];
  yield ['a power cut that left some', (path) => disk.makeAsCutOff(path, random)];
}

it.skipIf(!hasCompiler)(
  'has every acknowledged commit, and at most the one under way beside them, whatever a kill or a power cut leaves of any step (needs a C compiler)',
  async () => {
    const library = join(directory, 'disk-recorder.so');
    expect(spawnSync('cc', ['-shared', '-fPIC', '-o', library, SOURCE, '-ldl']).status).toBe(0);
    const workload = new Workload(library);
    await workload.run();
    const disk = new RecordedDisk(workload.trace);
    const random = (): boolean => Math.random() < 0.5;
    for (let steps = 0; disk.next; disk.step(), steps++) {
      const [before, after = before] = workload.states.slice(disk.answers, disk.answers + 2);
      for (const [ending, make] of endings(disk, random)) {
        const path = join(
          directory,
          `${ending} after ${steps} steps, before ${disk.next.kind} ${disk.next.name}`,
        );
        make(path);
        await expectSound(path, before!, after!).catch((cause: Error) => {
          throw new Error(`${basename(path)}: ${cause.message}`, { cause });
        });
      }
    }
    expect(disk.answers).toBe(workload.states.length - 1);
  },
);
