import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new directory of its own for one test, which removes it. */
export function temporaryDirectory(): string {
  return mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-'));
}
