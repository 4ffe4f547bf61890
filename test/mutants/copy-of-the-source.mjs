import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const COPIED = ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts'];

/** Many times what the slowest tests take: a mutant that runs longer loops for ever, and that is noticed. */
const TIMEOUT_MS = 90_000;

/** Enough to notice, little enough to go through all mutants in minutes. */
const PROPERTY_RUNS = process.env.PROPERTY_RUNS ?? '25';

/** A scratch directory with the source and its tests, in which one mutant at a time lives. */
export class CopyOfTheSource {
  static async make(signal) {
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-mutants-'));
    await Promise.all(COPIED.map((name) => cp(join(ROOT, name), join(directory, name), { recursive: true })));
    await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    return new CopyOfTheSource(directory, signal);
  }

  constructor(directory, signal) {
    this.directory = directory;
    this.signal = signal;
  }

  async testWith({ file, find, replace, tests }) {
    const path = join(this.directory, file);
    const original = await readFile(path, 'utf8');
    const matches = original.split(find).length - 1;
    if (matches !== 1) return { verdict: 'OUTDATED', detail: `its text occurs ${matches} times` };
    await writeFile(
      path,
      original.replace(find, () => replace),
    );
    try {
      return await this.test(tests);
    } finally {
      await writeFile(path, original);
    }
  }

  /** One filter after the other, so that the quick tests notice before the slow ones are begun. */
  async test(tests) {
    for (const filter of tests) {
      const result = await this.testOnly(filter);
      if (result.verdict !== 'SURVIVED') return result;
    }
    return { verdict: 'SURVIVED', detail: 'no test notices' };
  }

  async testOnly(filter) {
    const report = join(this.directory, 'report.json');
    await rm(report, { force: true });
    const ended = await this.vitest(['--reporter=json', `--outputFile=${report}`, '--bail=1', filter]);
    if (ended === 'timeout') return { verdict: 'caught', detail: 'it never ends' };
    const { testResults } = JSON.parse(await readFile(report, 'utf8'));
    if (testResults.length === 0) return { verdict: 'BROKEN', detail: `there are no tests in ${filter}` };
    const failed = testResults
      .flatMap((file) => file.assertionResults)
      .find((test) => test.status === 'failed');
    if (failed) return { verdict: 'caught', detail: failed.fullName };
    const unloadable = testResults.find((file) => file.status === 'failed');
    if (unloadable) return { verdict: 'BROKEN', detail: unloadable.message.split('\n')[0] };
    return { verdict: 'SURVIVED', detail: 'no test notices' };
  }

  /** A process group of its own, so that a worker that loops for ever ends with it. */
  vitest(args) {
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [VITEST, 'run', ...args], {
        cwd: this.directory,
        detached: true,
        stdio: 'ignore',
        env: { ...process.env, PROPERTY_RUNS },
      });
      let ended = 'exit';
      const kill = (why) => {
        ended = why;
        process.kill(-child.pid, 'SIGKILL');
      };
      const abort = () => kill('timeout');
      const timer = setTimeout(abort, TIMEOUT_MS);
      this.signal.addEventListener('abort', abort, { once: true });
      child.once('error', reject);
      child.once('exit', () => {
        clearTimeout(timer);
        this.signal.removeEventListener('abort', abort);
        resolve(ended);
      });
    });
  }

  remove() {
    return rm(this.directory, { recursive: true, force: true });
  }
}
