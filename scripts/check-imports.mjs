// Imports point one way. Each room of src/ may import from the rooms listed, and from itself; `PORTS` are the files of a
// room that those who see only its port may import; `only` names files that one room alone may import.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOMS = {
  core: { rooms: [], packages: false },
  common: { rooms: ['core'] },
  stores: { rooms: ['core', 'common'] },
  refcount: { rooms: ['core', 'common'] },
  subscriptions: { rooms: ['core', 'common', 'locking', 'instances'] },
  locking: { rooms: ['core', 'common'], files: ['stores', 'refcount', 'subscriptions'] },
  instances: { rooms: ['core', 'common', 'locking'], files: ['stores'] },
  sessions: { rooms: ['core', 'common', 'locking', 'instances', 'subscriptions'], files: ['stores'] },
  health: { rooms: ['common', 'locking'], files: ['stores'] },
  metrics: { rooms: ['core', 'common', 'locking', 'subscriptions', 'sessions'] },
  logging: { rooms: ['core', 'common', 'config', 'subscriptions'] },
  config: { rooms: ['core', 'common', 'locking', 'stores', 'refcount'] },
  client: { rooms: [] },
  content: {
    rooms: ['client'],
    only: [
      'refcount/memory-ref-count-storage.ts',
      'refcount/ref-count-manager.ts',
      'refcount/ref-count-storage.contract.ts',
      'refcount/ref-count-storage.interface.ts',
      'refcount/ref-count.error.ts',
      'refcount/reference-count.ts',
    ],
  },
  containerd: { rooms: ['client', 'content'] },
  cli: { rooms: ['client', 'containerd', 'serve.ts', 'version.ts'] },
};

const PORTS = new Set([
  'stores/state-store.interface.ts',
  'stores/store.error.ts',
  'refcount/ref-count-storage.interface.ts',
  'subscriptions/event-bus.ts',
  'subscriptions/events.module.ts',
  'subscriptions/resource-listeners.ts',
]);

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s+'([^']+)'|(?:^|\n)\s*import\s+'([^']+)'|import\(\s*'([^']+)'/g;

/** Every import that points the wrong way, as a sentence. `files`: path below src/ → text. */
export function violations(files) {
  const found = [];
  for (const [path, text] of files) {
    const room = path.split('/')[0];
    const rule = ROOMS[room];
    if (path === room || path.endsWith('.spec.ts')) continue;
    if (!rule) {
      found.push(`${path}: nothing says what ${room} may see`);
      continue;
    }
    for (const [, from, effects, dynamic] of text.matchAll(IMPORT)) {
      const source = from ?? effects ?? dynamic;
      if (!source.startsWith('.')) {
        if (rule.packages === false) found.push(`${path} imports ${source}: ${room} uses no library`);
        continue;
      }
      const target = posix.join(posix.dirname(path), source).replace(/\.js$/, '.ts');
      const targetRoom = target.split('/')[0];
      const allowed =
        targetRoom === room ||
        rule.rooms.includes(targetRoom) ||
        rule.only?.includes(target) ||
        (rule.files?.includes(targetRoom) && PORTS.has(target));
      if (!allowed) found.push(`${path} imports ${target}: ${room} may not see it`);
    }
  }
  return found;
}

export function sources(root) {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => [relative(root, file).replaceAll('\\', '/'), readFileSync(file, 'utf8')]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = sources(join(dirname(fileURLToPath(import.meta.url)), '..', 'src'));
  const found = violations(files);
  for (const violation of found) console.error(violation);
  console.log(`${files.length} files, ${found.length} imports that point the wrong way`);
  process.exitCode = found.length > 0 ? 1 : 0;
}
