// `npm run bench`, or `npm run bench -- core manager` for some of it. Ratios within one run are what counts: absolute
// figures drift between machines, and machines are shared.
import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

const ALL = [
  'core',
  'manager',
  'http-floor',
  'client',
  'content',
  'fan-out',
  'engine-cycles',
  'engine-writes',
  'shards',
  'million',
  'containerd',
];
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !ALL.includes(name));
if (unknown.length > 0) {
  console.error(`No benchmark ${unknown.join(', ')}. There are: ${ALL.join(', ')}`);
  process.exit(2);
}
console.log(`Node ${process.version}, ${cpus().length} × ${cpus()[0].model}`);
for (const name of asked.length > 0 ? asked : ALL) {
  const script = fileURLToPath(new URL(`${name}.mjs`, import.meta.url));
  const { status } = spawnSync(process.execPath, ['--expose-gc', script], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
