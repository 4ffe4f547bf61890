// Pulls an image's blobs into a directory that many nodes share; each is downloaded by one of them. Start a server
// (`LOCK_ISOLATION=resource npm start`), then on every node: `node examples/pull-image.mjs REGISTRY/NAME:TAG DIRECTORY`
import { hostname } from 'node:os';
import { LockClient } from 'holdfast/client';
import { ContentNode, ContentStore } from 'holdfast/content';
import { blobsOf, download, parseReference } from './registry.mjs';

const [reference, directory] = process.argv.slice(2);
if (!directory) {
  console.error('Usage: node examples/pull-image.mjs REGISTRY/NAME:TAG DIRECTORY');
  process.exit(2);
}

/** As containerd does. */
const AT_ONCE = 3;

const client = new LockClient({
  serverUrl: process.env.HOLDFAST_URL ?? 'http://127.0.0.1:8086',
  nodeId: process.env.NODE_ID ?? hostname(),
});
const store = await ContentStore.open(directory);
const node = new ContentNode({ store, client });

async function pull(repository, { digest, size }) {
  const fill = (writer) => download(`${repository}/blobs/${digest}`, writer);
  const { skipped } = await node.pull(`${reference}@${digest}`, digest, size, fill);
  console.log(
    `${digest.slice(0, 19)}  ${String(size).padStart(10)} bytes  ${skipped ? 'is there' : 'downloaded'}`,
  );
  return skipped ? 0 : size;
}

try {
  const image = parseReference(reference);
  const blobs = await blobsOf(image);
  const rest = blobs.values();
  let downloaded = 0;
  const worker = async () => {
    for (const blob of rest) {
      const bytes = await pull(image.repository, blob);
      downloaded += bytes;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  console.log(`${blobs.length} blobs, ${downloaded} bytes downloaded by this node`);
} catch (error) {
  console.error(`${reference}: ${error.message}`);
  process.exitCode = 1;
} finally {
  await client.close();
  store.close();
}
