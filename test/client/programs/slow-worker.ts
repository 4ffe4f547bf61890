// Runs work of half a second under a lock and prints what became of it; says `working` when it has begun.
import { setTimeout as sleep } from 'node:timers/promises';
import { LockClient } from '../../../src/client/index.js';

const [serverUrl = '', sessionTtlMs = ''] = process.argv.slice(2);
const client = new LockClient({ serverUrl, nodeId: 'stopped', sessionTtlMs: Number(sessionTtlMs) });
try {
  const result = await client.runOnce({ type: 'update', resourceId: 'layer' }, async (hold) => {
    hold.signal.addEventListener('abort', () => console.log('aborted'));
    console.log('working');
    await sleep(500);
    return hold.token;
  });
  console.log(result.status);
} catch (error) {
  console.log((error as Error).name);
}
await client.close();
