import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { LockClient } from '../client/index.js';
import { ContentNode, ContentStore, nodeName } from '../content/index.js';
import { ContentService } from './content-service.js';
import { Flights } from './flights.js';
import { Markers } from './node/markers.js';
import { NodeBlobs } from './node/node-blobs.js';
import { NodeRecords } from './node/node-records.js';
import { ServerLink } from './node/server-link.js';
import { ContentServer } from './wire/content-server.js';
import { assertUnserved } from './wire/unix-socket.js';

export interface PluginOptions {
  /** The unix socket to serve containerd on. */
  readonly address: string;
  /** The shared directory. */
  readonly root: string;
  readonly nodeId: string;
  readonly serverUrls: readonly string[];
  /** What becomes of a pull while no server answers. Deletes always fail then. */
  readonly whenUnreachable: 'proceed' | 'fail';
  /** For people: what becomes of blobs and of the link with the server. */
  readonly log: (line: string) => void;
}

/** About twelve seconds from the first try to the last: a server that is only being restarted is waited for. */
const CLIENT = { maxRetries: 5, retryIntervalMs: 500, requestTimeoutMs: 5000 } as const;

/** The content store of one node's containerd: see docs/containerd.md. */
export class ContainerdPlugin {
  /** Resolves when it was stopped, with the reason if that was its own. */
  readonly ended: Promise<Error | undefined>;
  private readonly end: (reason?: Error) => void;
  private stopping: Promise<void> | undefined;

  private constructor(
    private readonly parts: {
      readonly client: LockClient;
      readonly link: ServerLink;
      readonly store: ContentStore;
      readonly flights: Flights;
      readonly server: ContentServer;
    },
  ) {
    const { promise, resolve: end } = withResolvers<Error | undefined>();
    this.ended = promise;
    this.end = end;
  }

  /** Throws if the socket is served by another, or the node, the directory cannot be used, or the server is of the wrong kind. */
  static async start(options: PluginOptions): Promise<ContainerdPlugin> {
    const { nodeId, log, whenUnreachable } = options;
    await assertUnserved(resolve(options.address)); // who finds it served is told so before it waits for anything
    const root = resolve(options.root);
    const client = new LockClient({ ...CLIENT, serverUrls: options.serverUrls, nodeId });
    let plugin: ContainerdPlugin | undefined;
    const link: ServerLink = new ServerLink(client, options.serverUrls, {
      up: () => blobs.reconcile(),
      wrong: (error) => void plugin?.stop(error),
      log,
    });
    let blobs!: NodeBlobs;
    try {
      await link.open(); // who is refused leaves nothing behind
      const store = await openStore(root, log);
      const name = nodeName(nodeId);
      const records = await NodeRecords.open(join(root, 'nodes', name));
      const markers = await Markers.open(join(root, 'refs'), name);
      const isMarked = async (digest: string) => (await markers.nodes(digest)).length > 0;
      const node = new ContentNode({ store, client, isMarked });
      blobs = new NodeBlobs({ node, records, markers, link, whenUnreachable, log });
      const flights = new Flights(node, blobs, link);
      await link.begin();
      const service = new ContentService(node, blobs, flights);
      const server = await ContentServer.listen(resolve(options.address), service);
      plugin = new ContainerdPlugin({ client, link, store, flights, server });
      return plugin;
    } catch (error) {
      await link.close();
      await client.close();
      throw error;
    }
  }

  /** What is under way ends as a failure, so that the next node takes over. */
  stop(reason?: Error): Promise<void> {
    this.stopping ??= this.stopNow().finally(() => this.end(reason));
    return this.stopping;
  }

  private async stopNow(): Promise<void> {
    const { client, link, store, flights, server } = this.parts;
    server.close();
    await Promise.allSettled(flights.all().map((stream) => stream.close()));
    await link.close();
    await client.close();
    store.close();
  }
}

async function openStore(root: string, log: PluginOptions['log']): Promise<ContentStore> {
  const isNew = !existsSync(join(root, 'blobs'));
  const store = await ContentStore.open(root);
  if (isNew)
    log(`There was no store in ${root}, a new one was made. If the nodes share one, it is not mounted here.`);
  return store;
}

function withResolvers<T>(): { promise: Promise<T>; resolve: (value?: T) => void } {
  let resolve!: (value?: T) => void;
  const promise = new Promise<T>((settle) => (resolve = settle as (value?: T) => void));
  return { promise, resolve };
}
