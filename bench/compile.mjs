// What the tests start, for benchmarks that need it: Node 20 does not run TypeScript.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** The module of a TypeScript file of this project, by its path from the root, where the process runs. */
export async function importTypeScript(path) {
  const directory = mkdtempSync('node_modules/.bench-');
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const compiler = join(process.cwd(), directory, 'compiled.mjs');
  const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 };
  const source = readFileSync('test/support/compiled.ts', 'utf8');
  writeFileSync(compiler, ts.transpileModule(source, { compilerOptions: options }).outputText);
  const { compiled } = await import(compiler);
  return import(compiled(path));
}
