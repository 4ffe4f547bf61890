// Locks and unlocks, or waits for a lock that another holds, and closes nothing.
import { LockClient } from '../../../src/client/index.js';

const [serverUrl = '', resourceId = ''] = process.argv.slice(2);
const client = new LockClient({ serverUrl, nodeId: 'unclosed' });
console.log('asking');
const { hold } = await client.lock({ type: 'update', resourceId });
if (hold) console.log((await client.unlock(hold, { success: true })).message);
