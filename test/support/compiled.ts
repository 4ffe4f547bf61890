import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import ts from 'typescript';

const ROOT = resolve(import.meta.dirname, '../..');

/** Below node_modules, so that imports of packages resolve, and out of the way of git and linters. */
const CACHE = join(ROOT, 'node_modules/.cache/holdfast-test');

/** As in tsconfig.json, as far as it changes what runs. */
const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.ESNext,
  target: ts.ScriptTarget.ES2023,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
};

let directory: string | undefined;

/**
 * The JavaScript of a TypeScript file of this project, for tests that start a process of their own: Node 20
 * does not run TypeScript. Everything is transpiled (not type-checked) once per test process, and removed
 * with it.
 */
export function compiled(path: string): string {
  directory ??= transpileAll(join(CACHE, String(process.pid)));
  return join(directory, path.replace(/\.ts$/, '.js'));
}

function transpileAll(target: string): string {
  rmSync(target, { recursive: true, force: true });
  process.once('exit', () => rmSync(target, { recursive: true, force: true }));
  for (const folder of ['src', 'test']) {
    for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
      if (/(?<!\.d|\.spec)\.ts$/.test(name)) transpile(join(folder, name), target);
    }
  }
  writeFileSync(join(target, 'package.json'), '{ "type": "module" }');
  return target;
}

function transpile(path: string, target: string): void {
  const { outputText } = ts.transpileModule(readFileSync(join(ROOT, path), 'utf8'), {
    compilerOptions: OPTIONS,
  });
  const output = join(target, path.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, outputText);
}
