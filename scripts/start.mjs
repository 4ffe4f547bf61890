// `npm start`: builds when the sources are newer than the build, then becomes the server.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

function newest(folder) {
  const files = readdirSync(folder, { recursive: true }).map((file) => statSync(join(folder, file)).mtimeMs);
  return Math.max(...files);
}

const main = join(root, 'dist', 'main.js');
if (!existsSync(main) || newest(join(root, 'src')) > statSync(main).mtimeMs) {
  console.log('Building …');
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
await import(main);
