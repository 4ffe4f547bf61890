import { randomBytes } from 'node:crypto';
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

/** Of the project: everything is run from there, and this file may be compiled itself. */
const ROOT = process.cwd();

/** Below node_modules, so that imports of packages resolve, and out of the way of git and linters. */
const CACHE = join(ROOT, 'node_modules/.cache/holdfast-test');

/** As in tsconfig.json, as far as it changes what runs. */
const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.ESNext,
  target: ts.ScriptTarget.ES2023,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
};

const directory = join(CACHE, `${process.pid}-${randomBytes(4).toString('hex')}`);
const transpiled = new Set<string>();
let copies = 0;

/**
 * The JavaScript of a TypeScript file of this project, for tests that start a process of their own: Node 20
 * does not run TypeScript. It and what it imports are transpiled (not type-checked) once per test process, and
 * removed with it.
 */
export function compiled(path: string): string {
  if (transpiled.size === 0) begin();
  transpile(path);
  return outputOf(path);
}

/** Something that is wrong with a build: in this file, this is that. */
export interface Mistake {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** The same in a copy of its own, with a mistake in it. */
export function compiledWith(path: string, { file, find, replace }: Mistake): string {
  compiled(path);
  const copy = `${directory}-${++copies}`;
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
  cpSync(directory, copy, { recursive: true });
  const wrong = join(copy, asJavaScript(file));
  const text = readFileSync(wrong, 'utf8');
  if (text.split(find).length !== 2) throw new Error(`${file} does not have one place with: ${find}`);
  writeFileSync(
    wrong,
    text.replace(find, () => replace),
  );
  return join(copy, asJavaScript(path));
}

function begin(): void {
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  copyFileSync(join(ROOT, 'package.json'), join(directory, 'package.json'));
}

function transpile(path: string): void {
  if (transpiled.has(path)) return;
  transpiled.add(path);
  const source = readFileSync(join(ROOT, path), 'utf8');
  const { outputText } = ts.transpileModule(source, { compilerOptions: OPTIONS });
  mkdirSync(dirname(outputOf(path)), { recursive: true });
  writeFileSync(outputOf(path), outputText);
  for (const [, imported] of outputText.matchAll(/\b(?:from |import\()'(\.[^']+)\.js'/g)) {
    transpile(join(dirname(path), `${imported}.ts`));
  }
  for (const [, script] of outputText.matchAll(/'(\.[^']+\.lua)'/g)) copy(join(dirname(path), script!));
}

function copy(path: string): void {
  mkdirSync(dirname(outputOf(path)), { recursive: true });
  copyFileSync(join(ROOT, path), outputOf(path));
}

function outputOf(path: string): string {
  return join(directory, asJavaScript(path));
}

function asJavaScript(path: string): string {
  return path.replace(/\.ts$/, '.js');
}
