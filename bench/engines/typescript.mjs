// Lets Node 20 import the TypeScript of test/support, so that what benchmarks need is found and started by the
// scripts of the tests: `register('./engines/typescript.mjs', import.meta.url)`.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 };

export function resolve(specifier, context, next) {
  const isOurs = specifier.startsWith('.') && context.parentURL?.endsWith('.ts');
  return next(isOurs ? specifier.replace(/\.js$/, '.ts') : specifier, context);
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const text = await readFile(fileURLToPath(url), 'utf8');
  const source = ts.transpileModule(text, { compilerOptions }).outputText;
  return { format: 'module', source, shortCircuit: true };
}
