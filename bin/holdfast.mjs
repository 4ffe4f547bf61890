#!/usr/bin/env node
// The compiler makes no file executable; this one is, so that `npx holdfast` works in a clone, too.
import { existsSync } from 'node:fs';

const main = new URL('../dist/cli/main.js', import.meta.url);
if (existsSync(main)) await import(main.href);
else {
  console.error('Holdfast is not built yet: npm run build');
  process.exitCode = 1;
}
