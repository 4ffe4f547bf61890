import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../..');

/** Inside `node_modules`, so that what is compiled finds its packages and git does not find it. */
const CACHE = join(ROOT, 'node_modules/.cache/holdfast-test/refcount');

/** Compiles one TypeScript file and what it imports; answers the path that Node can run. */
export async function compiledChild(source: string): Promise<string> {
  const tsconfig = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: { rootDir: ROOT, outDir: CACHE, noCheck: true, declaration: false, sourceMap: false },
    files: [join(ROOT, source)],
    include: [],
  };
  await mkdir(CACHE, { recursive: true });
  await writeFile(join(CACHE, 'package.json'), '{"type":"module"}');
  await writeFile(join(CACHE, 'tsconfig.json'), JSON.stringify(tsconfig));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [tsc, '-p', join(CACHE, 'tsconfig.json')]);
  return join(CACHE, source.replace(/\.ts$/, '.js'));
}
