import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** What the tests need of the system, and the Debian or Ubuntu packages that have it, newest name first. */
const PACKAGES = {
  'redis-server': ['redis-server'],
  etcd: ['etcd-server', 'etcd'],
  openssl: ['openssl'],
  curl: ['curl'],
  postgres: ['postgresql'],
  'docker-registry': ['docker-registry'],
  containerd: ['containerd'],
  ctr: ['containerd'],
} as const;

export type Engine = keyof typeof PACKAGES;

/** Many systems keep servers out of the path of ordinary users. */
const MORE_DIRECTORIES = ['/usr/local/bin', '/usr/bin', '/usr/sbin', '/usr/local/sbin'];

/** Where the engine's program is. */
export function engineBinary(engine: Engine): string {
  const found = findBinary(engine);
  if (found === undefined) throw new Error(`${engine} is not installed; ${howToInstall(engine)}`);
  return found;
}

/** Once for all test files, before the first: they would disturb each other. */
export function installEngines(): void {
  const missing = (Object.keys(PACKAGES) as Engine[]).filter((engine) => findBinary(engine) === undefined);
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0) {
    throw new Error(
      missing.map((engine) => `${engine} is needed by the tests: ${howToInstall(engine)}`).join('\n'),
    );
  }
  apt('update');
  for (const engine of missing) install(engine);
}

function install(engine: Engine): void {
  let said = '';
  for (const name of PACKAGES[engine]) {
    said += apt('install', '-y', '--no-install-recommends', name);
    if (findBinary(engine) !== undefined) return;
  }
  throw new Error(`${engine} could not be installed; ${howToInstall(engine)}\n${said}`);
}

/** Run level 1 keeps the package from starting a server of its own. */
function apt(...args: string[]): string {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const { stderr, error } = spawnSync('apt-get', ['-q', ...args], { env, encoding: 'utf8' });
  return error ? error.message : stderr;
}

function howToInstall(engine: Engine): string {
  return `as root: apt-get install ${PACKAGES[engine][0]} (or put a ${engine} of your own into the PATH)`;
}

function findBinary(engine: Engine): string | undefined {
  const path = (process.env['PATH'] ?? '').split(delimiter);
  const directories = [...path, ...MORE_DIRECTORIES, ...postgresDirectories()];
  return directories.map((directory) => join(directory, engine)).find(isExecutable);
}

/** Debian keeps the versions side by side, out of everybody's path; the newest first. */
function postgresDirectories(): string[] {
  const root = '/usr/lib/postgresql';
  if (!existsSync(root)) return [];
  const versions = readdirSync(root).toSorted((a, b) => Number(b) - Number(a));
  return versions.map((version) => join(root, version, 'bin'));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
