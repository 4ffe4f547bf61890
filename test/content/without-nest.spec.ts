import { execFile } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { compiled } from '../support/compiled.js';

const dataUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;

/** Says which packages are loaded. */
const SPYING = dataUrl(`
  import { writeSync } from 'node:fs';
  export async function resolve(specifier, context, next) {
    if (!/^[./]|^(node|file|data):/.test(specifier)) writeSync(1, specifier + '\\n');
    return next(specifier, context);
  }`);

async function packagesOf(source: string): Promise<string[]> {
  const spy = dataUrl(`import { register } from 'node:module'; register(${JSON.stringify(SPYING)});`);
  const program = `await import(${JSON.stringify(pathToFileURL(compiled(source)).href)})`;
  const args = ['--import', spy, '--input-type=module', '-e', program];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return [...new Set(stdout.split('\n').filter((line) => line !== ''))];
}

it('holdfast/content loads no package of its own: nothing of Nest, nothing of the server', async () => {
  expect(await packagesOf('src/content/index.ts')).toEqual([]);
});

it('and the spy would have seen it', async () => {
  expect(await packagesOf('src/refcount/ref-count.module.ts')).toContain('@nestjs/common');
});
