/** Counts nodes in and out without end, and says which were acknowledged. argv: directory, name. */
import { writeSync } from 'node:fs';
import { DirectoryRefCountStorage, RefCountManager } from '../../../src/content/index.js';

const [, , directory = '', name = ''] = process.argv;
const manager = new RefCountManager(new DirectoryRefCountStorage(directory));
const say = (line: string) => writeSync(1, `${line}\n`);

for (let n = 0; ; n++) {
  const nodeId = `${name}-${n}`;
  await manager.updateRefCount('pull', 'layer', { nodeId, success: true });
  say(`+ ${nodeId}`);
  if (n % 3 !== 0) continue;
  say(`? ${nodeId}`);
  await manager.releaseRef('layer', nodeId);
  say(`- ${nodeId}`);
}
