import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Image, makeImage } from '../registry/image.js';
import { pushImage } from '../registry/push-image.js';
import { RegistryServer } from '../registry/registry-server.js';
import { SharedLink } from '../registry/shared-link.js';
import { ServerProcess } from '../server-process.js';
import { temporaryDirectory } from '../temporary-directory.js';
import { ContainerdServer } from './containerd-server.js';
import { PluginProcess } from './plugin-process.js';

const POLL_MS = 20;

/** A node: containerd and its plugin, with everything of theirs in one directory. */
export interface Node {
  readonly name: string;
  readonly plugin: PluginProcess;
  readonly containerd: ContainerdServer;
}

export interface ClusterOptions {
  readonly nodes: number;
  readonly pluginArgs?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The containerds serve a kubelet. */
  readonly cri?: boolean;
}

/** A registry behind a link that can be slowed down, a Holdfast server, and nodes that share one store. */
export class Cluster {
  readonly nodes: Node[] = [];
  private images = 0;

  private constructor(
    readonly directory: string,
    readonly server: ServerProcess,
    readonly registry: RegistryServer,
    readonly link: SharedLink,
    private readonly cri: boolean,
  ) {}

  static async start(options: ClusterOptions): Promise<Cluster> {
    const { nodes, pluginArgs = [], environment = {}, cri = false } = options;
    const server = await ServerProcess.start({
      LOCK_ISOLATION: 'resource',
      STORE_URL: 'file:',
      ...environment,
    });
    const registry = await RegistryServer.start();
    const link = await SharedLink.start(registry.port, Infinity);
    const cluster = new Cluster(temporaryDirectory(), server, registry, link, cri);
    await Promise.all(Array.from({ length: nodes }, (_, n) => cluster.addNode(`node-${n + 1}`, pluginArgs)));
    cluster.nodes.sort((a, b) => (a.name < b.name ? -1 : 1));
    return cluster;
  }

  get store(): string {
    return join(this.directory, 'shared');
  }

  async addNode(name: string, args: readonly string[] = []): Promise<Node> {
    const directory = join(this.directory, name);
    mkdirSync(directory);
    const address = join(directory, 'plugin.sock');
    const places = { address, root: this.store, node: name, serverUrl: this.server.url, args };
    const plugin = await PluginProcess.start(places);
    const containerd = await ContainerdServer.start(directory, { pluginSocket: address, cri: this.cri });
    const node = { name, plugin, containerd };
    this.nodes.push(node);
    return node;
  }

  /** Resolves when its containerd has found it: that looks for a plugin it has lost every few seconds, and fails what comes between. */
  async startPluginAgain({ plugin, containerd }: Node): Promise<void> {
    await plugin.startAgain();
    while ((await containerd.start('content', 'active').finished).code !== 0) await delay(POLL_MS);
  }

  /** A new image in the registry, of layers nobody has seen. Its name as `ctr` wants it. */
  push(layerSizes: readonly number[]): Promise<PushedImage> {
    return this.publish(makeImage({ layerSizes, seed: this.images }));
  }

  async publish(image: Image): Promise<PushedImage> {
    const name = `image-${++this.images}`;
    await pushImage(this.registry.url, name, image);
    await this.registry.forget();
    return {
      name,
      image,
      ref: `127.0.0.1:${this.link.port}/${name}:latest`,
      directRef: `127.0.0.1:${this.registry.port}/${name}:latest`,
    };
  }

  /** The names of the blobs in the shared store. */
  blobs(): string[] {
    return readdirSync(join(this.store, 'blobs', 'sha256')).map((hex) => `sha256:${hex}`);
  }

  /** Until so many nodes stand in line for the blob. */
  async untilQueued(digest: string, count: number): Promise<void> {
    const path = `/lock/status?type=pull&resource_id=${digest}`;
    while (Number((await this.server.get(path)).body['queue_length']) < count) await delay(POLL_MS);
  }

  async holderOf(digest: string): Promise<string | undefined> {
    const { body } = await this.server.get(`/lock/status?type=pull&resource_id=${digest}`);
    return (body['holder'] as { node_id: string } | undefined)?.node_id;
  }

  /** Until so many bytes of a new download have come through the link. */
  async untilDownloaded(bytes: number): Promise<void> {
    const before = this.link.bytes;
    while (this.link.bytes < before + bytes) await delay(POLL_MS);
  }

  async references(digest: string): Promise<string[]> {
    const { body } = await this.server.get(`/refcounts?resource_id=${digest}`);
    return (body['nodes'] as { node_id: string }[]).map(({ node_id: node }) => node).sort();
  }

  async destroy(): Promise<void> {
    await Promise.all(this.nodes.map(({ containerd }) => containerd.stop()));
    await Promise.all(this.nodes.map(({ plugin }) => plugin.end('SIGKILL')));
    this.link.close();
    await this.registry.destroy();
    await this.server.remove();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export interface PushedImage {
  readonly name: string;
  /** By the link. */
  readonly ref: string;
  /** Past the link. */
  readonly directRef: string;
  readonly image: Image;
}
