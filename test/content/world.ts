import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { blobsOf, type Image, type ImageOptions, makeImage } from '../support/registry/image.js';
import { pushImage } from '../support/registry/push-image.js';
import { RegistryServer } from '../support/registry/registry-server.js';
import { ServerProcess } from '../support/server-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { NodeProcess } from './node-process.js';
import { type Item } from './programs/messages.js';

export const IMAGE = 'team/demo';

/** For hooks: a registry, a server and eight nodes start at once. */
export const WORLD_TIMEOUT_MS = 120_000;

/** Short, so that a killed node is noticed soon; a busy machine must not look like a dead one. */
export const SHORT_SESSION_MS = 3000;

/** Where nobody is meant to be taken for dead. */
const LONG_SESSION_MS = 60_000;

/** A registry with one image, a Holdfast server, and a directory that all nodes share. */
export class World {
  readonly directory = temporaryDirectory();
  readonly nodes: NodeProcess[] = [];

  private constructor(
    readonly registry: RegistryServer,
    readonly server: ServerProcess,
    readonly image: Image,
  ) {}

  static async start(options: ImageOptions): Promise<World> {
    const [registry, server] = await Promise.all([
      RegistryServer.start(),
      ServerProcess.start({ STORE_URL: 'file:', LOCK_ISOLATION: 'resource' }),
    ]);
    const world = new World(registry, server, makeImage(options));
    await pushImage(registry.url, IMAGE, world.image);
    return world;
  }

  get items(): Item[] {
    return blobsOf(this.image).map(({ digest, bytes }) => ({ digest, size: bytes.length }));
  }

  /** `from`: the registry, or what stands in front of it. */
  async startNodes(
    nodeIds: readonly string[],
    from: { readonly url: string } = this.registry,
    sessionTtlMs = LONG_SESSION_MS,
    stops = 0,
  ): Promise<NodeProcess[]> {
    const options = {
      serverUrl: this.server.url,
      blobsUrl: `${from.url}/v2/${IMAGE}/blobs`,
      directory: this.directory,
      sessionTtlMs,
      stops,
    };
    const started = await Promise.all(nodeIds.map((nodeId) => NodeProcess.start({ ...options, nodeId })));
    this.nodes.push(...started);
    return started;
  }

  /** The files below a folder of the shared directory. */
  files(folder: string): string[] {
    try {
      const entries = readdirSync(join(this.directory, folder), { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }

  /** The nodes that are counted as users, of each blob. */
  users(): Promise<string[][]> {
    const usersOf = async ({ digest }: Item) => {
      const { body } = await this.server.get(`/refcounts?resource_id=${encodeURIComponent(digest)}`);
      return (body['nodes'] as { node_id: string }[]).map(({ node_id }) => node_id).toSorted();
    };
    return Promise.all(this.items.map(usersOf));
  }

  async destroy(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.close()));
    await Promise.all([this.server.remove(), this.registry.destroy()]);
    rmSync(this.directory, { recursive: true, force: true });
  }
}
