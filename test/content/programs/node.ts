// One node of a test: pulls, releases and deletes as its parent tells it, until the parent lets go of it.
import { createHash } from 'node:crypto';
import * as fs from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LockClient } from '../../../src/client/index.js';
import { ContentNode, ContentStore, type ContentWriter } from '../../../src/content/index.js';
import { churn, type Shelf } from './churn.js';
import {
  type Call,
  type Command,
  type Item,
  type NodeOptions,
  type Outcomes,
  type Reply,
} from './messages.js';

/** The one of the examples: what users copy is what is tested. */
const { download } = (await import(pathToFileURL(resolve('examples/registry.mjs')).href)) as {
  download(url: string, writer: ContentWriter): Promise<void>;
};

const options = JSON.parse(process.argv[2]!) as NodeOptions;
const { nodeId, serverUrl, sessionTtlMs } = options;
const client = new LockClient({ serverUrl, nodeId, sessionTtlMs, retryIntervalMs: 100 });
const store = await ContentStore.open(options.directory, { fileSystem: { ...fs, rename } });
const node = new ContentNode({ store, client });

/** Resolves when the parent has it in its hands, even if this process is killed then. */
function tell(reply: Reply): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send!(reply, (error: Error | null) => (error ? reject(error) : resolve()));
  });
}

/** The worst moment: the node has made sure that the lock is its own, and acts on it much later. */
async function rename(from: string, to: string): Promise<void> {
  if (to.includes('/trash/') && Math.random() < options.stops) {
    await tell({ stopping: true });
    process.kill(process.pid, 'SIGSTOP');
  }
  await fs.rename(from, to);
}

async function fetchInto(digest: string, writer: ContentWriter): Promise<void> {
  await tell({ begin: digest });
  await download(`${options.blobsUrl}/${digest}`, writer);
}

const shelf: Shelf = {
  async pull({ digest, size }: Item): Promise<string> {
    const { skipped } = await node.pull(`test/${digest}`, digest, size, (writer) =>
      fetchInto(digest, writer),
    );
    if (!skipped) await tell({ end: digest });
    return skipped ? 'skip' : 'yours';
  },

  async verify(digest: string): Promise<void> {
    const reader = await store.open(digest);
    try {
      const hash = createHash('sha256')
        .update(await reader.read(0, reader.size))
        .digest('hex');
      if (digest !== `sha256:${hash}`) throw new Error(`${digest} has the bytes of sha256:${hash}`);
    } finally {
      await reader.close();
    }
  },

  release: (digest) => node.release(digest),

  async delete(digest: string): Promise<string> {
    return (await node.delete(digest)) ? 'deleted' : 'absent';
  },
};

/** Errors are outcomes. */
function told(outcome: Promise<string>): Promise<string> {
  return outcome.catch((error: Error & { code?: string }) => error.code ?? error.message);
}

async function pullAll(items: readonly Item[], atOnce: number): Promise<Outcomes> {
  const outcomes: Record<string, string> = {};
  const rest = [...items];
  const worker = async () => {
    for (let item = rest.shift(); item; item = rest.shift()) {
      outcomes[item.digest] = await told(shelf.pull(item));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  for (const [digest, outcome] of Object.entries(outcomes)) {
    if (outcome === 'yours' || outcome === 'skip') await shelf.verify(digest);
  }
  return outcomes;
}

async function deleteAll(items: readonly Item[]): Promise<Outcomes> {
  const pairs = items.map(async ({ digest }) => [digest, await told(shelf.delete(digest))] as const);
  return Object.fromEntries(await Promise.all(pairs));
}

const tolerant: Shelf = {
  ...shelf,
  pull: (item) => told(shelf.pull(item)),
  delete: (digest) => told(shelf.delete(digest)),
};

async function execute(command: Command): Promise<unknown> {
  if (command.do === 'pull') return pullAll(command.items, command.atOnce);
  if (command.do === 'delete') return deleteAll(command.items);
  if (command.do === 'churn') return churn(tolerant, command.options);
  if (command.do === 'sweep') return node.sweep(command.options);
  await Promise.all(command.items.map(({ digest }) => shelf.release(digest)));
}

process.on('message', ({ id, command }: Call) => {
  execute(command).then(
    (value) => tell({ id, value }),
    (error: Error) => tell({ id, error: error.stack ?? error.message }),
  );
});
process.on('disconnect', () => void client.close().then(() => process.exit()));
await tell({ ready: true });
