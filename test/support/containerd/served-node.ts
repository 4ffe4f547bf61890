import { join } from 'node:path';
import { ContainerdPlugin, type PluginOptions } from '../../../src/containerd/index.js';
import { digestOf } from '../registry/image.js';
import { ContentClient } from './content-client.js';

/** Node `a`, whose plugin runs in the test's own process, and what its containerd would ask with. */
export class ServedNode {
  /** What it shares with other nodes. */
  readonly root: string;
  client!: ContentClient;
  private plugin!: ContainerdPlugin;

  private constructor(
    private readonly directory: string,
    private readonly serverUrl: string,
    private readonly options: Partial<PluginOptions>,
  ) {
    this.root = join(directory, 'shared');
  }

  static async start(
    directory: string,
    serverUrl: string,
    options: Partial<PluginOptions> = {},
  ): Promise<ServedNode> {
    const node = new ServedNode(directory, serverUrl, options);
    await node.startAgain();
    return node;
  }

  async startAgain(): Promise<void> {
    const address = join(this.directory, 'a.sock');
    this.plugin = await ContainerdPlugin.start({
      address,
      root: this.root,
      nodeId: 'a',
      serverUrls: [this.serverUrl],
      whenUnreachable: 'proceed',
      log: () => undefined,
      ...this.options,
    });
    this.client = new ContentClient(address);
  }

  async stop(): Promise<void> {
    this.client.close();
    await this.plugin.stop();
  }

  /** As containerd writes what it has pulled. */
  async store(bytes: Buffer): Promise<string> {
    const digest = digestOf(bytes);
    const writing = this.client.write();
    await writing.ask({ action: 0, ref: `demo/1/layer-${digest}`, total: bytes.length });
    await writing.write(0, bytes);
    await writing.commit(bytes.length, digest);
    return digest;
  }
}
