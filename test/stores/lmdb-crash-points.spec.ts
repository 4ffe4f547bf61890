import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LmdbStateStore } from '../../src/stores/lmdb/lmdb-state-store.js';
import { type Item, type Write } from '../../src/stores/state-store.interface.js';
import { type StoreCommand, StoreProcess } from '../support/store-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { RecordedDisk, type Survival } from './recorded-disk.js';

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

/** Hundreds of directories are made and opened. */
const TIME_LIMIT_MS = 180_000;

type State = ReadonlyMap<string, Item>;

/** After an answer, and until the next. */
interface Stage {
  readonly state: State;
  /** Of what is being asked for, or was and has been neither promised nor refused: the process may end before it says. */
  perhaps: State;
}

let directory: string;
beforeEach(() => {
  directory = existsSync(MEMORY) ? mkdtempSync(join(MEMORY, 'holdfast-')) : temporaryDirectory();
});
afterEach(() => rmSync(directory, { recursive: true }));

/** What several processes do one after another. */
class Workload {
  readonly stages: Stage[] = [{ state: new Map(), perhaps: new Map() }];
  readonly trace = join(directory, 'trace');
  private readonly served = join(directory, 'served');
  private readonly switches = {
    FAIL_JOURNAL: join(directory, 'refuse'),
    FAIL_SYNC: join(directory, 'doubt'),
    FAIL_RECORD: join(directory, 'record'),
  };
  private child!: StoreProcess;
  private revision = 0;

  async run(): Promise<void> {
    await this.start();
    await this.commit({ a: 'one' });
    await this.commit({ b: 'two', c: 'three' });
    await this.commit({ a: undefined, b: 'four' });
    await this.child.kill();

    await this.start();
    await this.commit({ a: 'again' });
    await this.failToCommit({ a: undefined, c: 'in doubt' }, 'FAIL_SYNC', { status: 'unknown' });
    await this.failToDecide();
    await this.answer({ do: 'get', keys: ['c'] });
    await this.commit({ b: 'five' });
    // Saves beside what follows, and a saving whose flushing fails would have that refused.
    await this.failToCommit({ a: undefined, b: 'refused' }, 'FAIL_JOURNAL', { code: 'STORE_UNAVAILABLE' });
    await this.commit({ b: 'six' });
    for (let saved = 0; saved < 2; saved++) {
      for (let n = 0; n < 9; n++) await this.commit(longValues(`${saved}/${n}`));
      await this.commit({ b: undefined, [`after ${saved}`]: '' });
      await this.commit({ b: `${saved}` });
    }
    await this.answer({ do: 'close' });
    await this.child.kill();

    await this.start();
    await this.commit({ a: undefined });
    await this.failToCommit({ c: 'in doubt' }, 'FAIL_SYNC', { status: 'unknown' });
    await this.failToDecide();
    await this.child.kill();
    await this.start(this.stages.at(-1)!.perhaps);
    await this.answer({ do: 'close' });
    await this.child.kill();
  }

  private async start(found = this.stages.at(-1)!.state): Promise<void> {
    const libraries = ['failing-disk', 'disk-recorder'].map(compiledLibrary).join(' ');
    const env = {
      LD_PRELOAD: libraries,
      DISK_TRACE: this.trace,
      DISK_DIRECTORY: this.served,
      ...this.switches,
    };
    this.child = new StoreProcess(this.served, { env });
    expect(await this.answer({ do: 'open' }, found)).toBeNull();
  }

  private async answer(
    command: StoreCommand,
    state = this.stages.at(-1)!.state,
    perhaps = state,
  ): Promise<unknown> {
    const answer = await this.child.tell(command);
    this.stages.push({ state, perhaps });
    return answer;
  }

  private async commit(values: Values): Promise<void> {
    const { state } = this.stages.at(-1)!;
    const outcome = await this.child.tell({ do: 'commit', writes: writesOf(state, values) });
    expect(outcome).toMatchObject({ status: 'committed' });
    this.revision = (outcome as { revision: number }).revision;
    const next = changed(state, values, this.revision);
    this.stages.at(-1)!.perhaps = next;
    this.stages.push({ state: next, perhaps: next });
  }

  /** What is in doubt stays so. */
  private async failToDecide(): Promise<void> {
    const { state, perhaps } = this.stages.at(-1)!;
    writeFileSync(this.switches.FAIL_RECORD, '');
    const answer = await this.answer({ do: 'get', keys: ['c'] }, state, perhaps);
    rmSync(this.switches.FAIL_RECORD);
    expect(answer).toMatchObject({ code: 'STORE_UNAVAILABLE' });
  }

  /** Its revision is the one after the last. */
  private async failToCommit(
    values: Values,
    fault: keyof Workload['switches'],
    expected: object,
  ): Promise<void> {
    const { state } = this.stages.at(-1)!;
    const perhaps = changed(state, values, this.revision + 1);
    this.stages.at(-1)!.perhaps = perhaps;
    writeFileSync(this.switches[fault], '');
    const outcome = await this.child.tell({ do: 'commit', writes: writesOf(state, values) });
    rmSync(this.switches[fault]);
    expect(outcome).toMatchObject(expected);
    this.stages.push({ state, perhaps: 'status' in expected ? perhaps : state });
  }
}

type Values = Readonly<Record<string, string | undefined>>;

function writesOf(state: State, values: Values): Write[] {
  return Object.entries(values).map(([key, put]): Write => {
    const expected = state.get(key)?.revision;
    if (put !== undefined) return { key, expect: expected ?? 'absent', put };
    return { key, expect: expected!, delete: true };
  });
}

function changed(state: State, values: Values, revision: number): State {
  const items = new Map(state);
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined) items.delete(key);
    else items.set(key, { key, revision, value });
  }
  return items;
}

function compiledLibrary(name: string): string {
  const library = join(directory, `${name}.so`);
  if (existsSync(library)) return library;
  const source = join(import.meta.dirname, `programs/${name}.c`);
  expect(spawnSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl']).status).toBe(0);
  return library;
}

/** Nine times this and the journal is saved. */
function longValues(text: string): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`long ${n}`, text.padEnd(60_000, '.')]));
}

/**
 * The next start finds what was acknowledged, and perhaps what was being committed; it goes on from there and leaves nothing lying
 * about.
 */
async function expectSound(path: string, { state, perhaps }: Stage): Promise<void> {
  const store = new LmdbStateStore(path, BACK_THEN);
  await store.open();
  const found = new Map<string, Item>();
  for await (const page of (await store.list(0)).pages) for (const item of page) found.set(item.key, item);
  if (!isDeepStrictEqual(found, perhaps)) expect(found).toEqual(state);
  const outcome = await store.commit(0, [{ key: 'next', expect: 'absent', put: '' }]);
  const newest = Math.max(...[...state.values()].map(({ revision }) => revision));
  expect(outcome.status === 'committed' && outcome.revision > newest).toBe(true);
  await store.close();
  expect(readdirSync(path).sort()).toEqual(['data.mdb', 'holdfast.json', 'lock.mdb']);
  rmSync(path, { recursive: true });
}

function allButTheFirst(): Survival {
  let asked = 0;
  return () => asked++ > 0;
}

/** The ways in which the directory can be found if everything ends now, except those that the next step has in common with this one. */
function* endings(disk: RecordedDisk, random: () => boolean): Iterable<[string, (path: string) => void]> {
  const { kind } = disk.next!;
  if (kind !== 'A' && kind !== 'S') yield ['a kill', (path) => disk.makeAsKilled(path)];
  if (!disk.isUnsettled && !'WD'.includes(kind)) return;
  if (disk.isUnsettled) {
    yield ['a power cut', (path) => disk.makeAsCutOff(path, () => false)];
    yield ['a power cut that left all but the first', (path) => disk.makeAsCutOff(path, allButTheFirst())];
  }
  yield ['a power cut that left some', (path) => disk.makeAsCutOff(path, random)];
}

it.skipIf(!hasCompiler)(
  'has every acknowledged commit, none that was refused, and at most the one under way, whatever a kill or a power cut leaves of any step (needs a C compiler)',
  async () => {
    const workload = new Workload();
    await workload.run();
    const disk = new RecordedDisk(workload.trace);
    const random = (): boolean => Math.random() < 0.5;
    for (let steps = 0; disk.next; disk.step(), steps++) {
      const stage = workload.stages[disk.answers]!;
      for (const [ending, make] of endings(disk, random)) {
        const path = join(
          directory,
          `${ending} after ${steps} steps, before ${disk.next.kind} ${disk.next.name}`,
        );
        make(path);
        await expectSound(path, stage).catch((cause: Error) => {
          throw new Error(`${basename(path)}: ${cause.message}`, { cause });
        });
      }
    }
    expect(disk.answers).toBe(workload.stages.length - 1);
  },
  TIME_LIMIT_MS,
);
