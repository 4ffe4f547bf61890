/** Changes a file storage without end and says on stdout which changes were acknowledged. argv: path. */
import { writeSync } from 'node:fs';
import { FileRefCountStorage } from '../../src/refcount/file-ref-count-storage.js';
import { BALLAST, countAfter, resourceOf, RESOURCES } from './crash-workload.js';

const STDOUT = 1;
const storage = new FileRefCountStorage(process.argv[2] ?? '');

async function apply(change: number): Promise<void> {
  const after = countAfter(change);
  if (after) await storage.setRefCount(resourceOf(change), after);
  else await storage.deleteRefCount(resourceOf(change));
  writeSync(STDOUT, `${change}\n`);
}

async function workOn(resource: number): Promise<never> {
  for (let change = resource; ; change += RESOURCES) await apply(change);
}

await storage.setRefCount('ballast', BALLAST);
await Promise.all(Array.from({ length: RESOURCES }, (_, resource) => workOn(resource)));
