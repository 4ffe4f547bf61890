// Three nodes want the same layer; one of them pulls it. Start a server (`npm start`), then `node examples/run-once.mjs`.
import { setTimeout as sleep } from 'node:timers/promises';
import { LockClient } from 'holdfast/client';

const serverUrl = process.env.HOLDFAST_URL ?? 'http://127.0.0.1:8086';
const layer = { type: 'pull', resourceId: process.env.LAYER ?? `sha256:${Date.now().toString(16)}` };

async function node(nodeId) {
  const client = new LockClient({ serverUrl, nodeId });
  try {
    const result = await client.runOnce(layer, async (hold) => {
      await download(hold.signal);
      return `pulled with token ${hold.token}`;
    });
    console.log(`${nodeId}: ${result.status === 'executed' ? result.value : 'skipped, it is there'}`);
  } finally {
    await client.close();
  }
}

/** Stops when the hold is lost: somebody else may be pulling then. */
async function download(signal) {
  await sleep(300, undefined, { signal });
}

try {
  await Promise.all(['node-1', 'node-2', 'node-3'].map(node));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
