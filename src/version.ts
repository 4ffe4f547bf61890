import { readFileSync } from 'node:fs';

/** Of the package this is part of. */
export const VERSION = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
