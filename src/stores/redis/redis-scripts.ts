import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Each script has its contract at its head. */
export const OPEN_SCRIPT = source(new URL('./scripts/open.lua', import.meta.url));
export const COMMIT_SCRIPT = source(new URL('./scripts/commit.lua', import.meta.url));
export const PAGE_SCRIPT = source(new URL('./scripts/page.lua', import.meta.url));

/** Commits name their script by this, and say it in full only to a server that does not know it. */
export const COMMIT_SHA = createHash('sha1').update(COMMIT_SCRIPT).digest('hex');

function source(file: URL): string {
  return readFileSync(file, 'utf8');
}
