// One node of bench/content.mjs: `node bench/content/node.mjs ID SERVER_URL`; without a server it downloads for itself. Told
// `{ blobs, blobsUrl, directory }`, it pulls them and says so.
import { LockClient } from '../../dist/client/index.js';
import { ContentNode, ContentStore } from '../../dist/content/index.js';
import { download } from '../../examples/registry.mjs';

/** As containerd does. */
const AT_ONCE = 3;

const [nodeId, serverUrl] = process.argv.slice(2);
const client = serverUrl && new LockClient({ serverUrl, nodeId });

function together(store, url, { digest, size }) {
  const node = new ContentNode({ store, client });
  return node.pull(digest, digest, size, (writer) => download(url, writer));
}

/** The same work on the disk, without asking anybody. */
async function alone(store, url, { digest, size }) {
  const ingest = await store.begin({ ref: digest, nodeId, token: 0, digest, total: size });
  await download(url, {
    total: size,
    get offset() {
      return ingest.offset;
    },
    write: (bytes) => ingest.write(bytes),
  });
  await store.publish(ingest, false, async () => undefined);
}

async function pullAll({ blobs, blobsUrl, directory }) {
  const store = await ContentStore.open(directory);
  const rest = blobs.values();
  const worker = async () => {
    for (const blob of rest) await (client ? together : alone)(store, `${blobsUrl}/${blob.digest}`, blob);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  store.close();
  process.send('done');
}

process.on('message', (order) => void pullAll(order));
process.on('disconnect', () => process.exit());
process.send('ready');
