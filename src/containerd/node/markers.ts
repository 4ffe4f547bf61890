import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeDurably, writeDurably } from './durable-file.js';

/** Whatever else lies there is not ours. */
const HEX = /^[0-9a-f]{64}$/;

/**
 * `refs/<hex>/<node>` in the shared store: "this node uses it, and could not tell the server". It is written before the node
 * looks for the bytes; whoever deletes looks for markers after it has moved the bytes aside. So one of them sees the other.
 */
export class Markers {
  constructor(
    private readonly directory: string,
    /** The node's name as part of a path. */
    private readonly nodeName: string,
  ) {}

  set(digest: string): Promise<void> {
    return writeDurably(join(this.of(digest), this.nodeName), '');
  }

  async clear(digest: string): Promise<void> {
    await removeDurably(join(this.of(digest), this.nodeName));
    await rmdir(this.of(digest)).catch(() => undefined);
  }

  /** Which nodes have marked it. */
  async nodes(digest: string): Promise<string[]> {
    const names = await readdir(this.of(digest)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return names.filter((name) => !name.startsWith('.'));
  }

  /** The digests that this node has marked. */
  async own(): Promise<string[]> {
    const names = await readdir(this.directory).catch(() => []);
    const digests = names.filter((name) => HEX.test(name)).map((hex) => `sha256:${hex}`);
    const marked = await Promise.all(digests.map((digest) => this.nodes(digest)));
    return digests.filter((_, n) => marked[n]!.includes(this.nodeName));
  }

  private of(digest: string): string {
    return join(this.directory, digest.slice('sha256:'.length));
  }
}
