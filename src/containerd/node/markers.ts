import { join } from 'node:path';
import { ContentError } from '../../content/index.js';
import {
  type ContentFileSystem,
  ifThere,
  isMissing,
  makeDirectory,
  makeOne,
  realFileSystem,
  syncDirectory,
} from '../../content/store/file-system.js';
import { draftOf, removeDurably, writeDurably } from './durable-file.js';

/** Whatever else lies there is not ours. */
const HEX = /^[0-9a-f]{64}$/;

/** The directory may go with another node's marker between making it and writing into it; more often is no accident. */
const MAX_TRIES = 8;

/**
 * `refs/<hex>/<node>` in the shared store: "this node uses it, and could not tell the server". It is written before the node
 * looks for the bytes; whoever deletes looks for markers after it has moved the bytes aside. So one of them sees the other.
 */
export class Markers {
  private constructor(
    private readonly directory: string,
    /** The node's name as part of a path. */
    private readonly nodeName: string,
    private readonly fs: ContentFileSystem,
  ) {}

  /** Clears away what this node's processes have left half-written. */
  static async open(directory: string, nodeName: string, fs = realFileSystem): Promise<Markers> {
    await makeDirectory(fs, directory);
    const markers = new Markers(directory, nodeName, fs);
    for (const digest of await markers.digests()) await markers.clearDrafts(markers.of(digest));
    return markers;
  }

  /** On disk before it resolves, with the directory it is in, whoever has made that. */
  async set(digest: string): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await makeOne(this.fs, this.of(digest));
        await writeDurably(join(this.of(digest), this.nodeName), '', this.fs);
        return await syncDirectory(this.fs, this.directory);
      } catch (error) {
        if (!isGone(error) || tries === MAX_TRIES) throw error;
      }
    }
  }

  async clear(digest: string): Promise<void> {
    await removeDurably(join(this.of(digest), this.nodeName), this.fs);
    await this.fs.rmdir(this.of(digest)).catch(() => undefined);
  }

  /** Which nodes have marked it. */
  async nodes(digest: string): Promise<string[]> {
    return (await this.namesIn(this.of(digest))).filter((name) => !name.startsWith('.'));
  }

  /** The digests that this node has marked. */
  async own(): Promise<string[]> {
    const digests = await this.digests();
    const marked = await Promise.all(digests.map((digest) => this.nodes(digest)));
    return digests.filter((_, n) => marked[n]!.includes(this.nodeName));
  }

  private async digests(): Promise<string[]> {
    const names = await this.namesIn(this.directory);
    return names.filter((name) => HEX.test(name)).map((hex) => `sha256:${hex}`);
  }

  private async clearDrafts(directory: string): Promise<void> {
    const drafts = (await this.namesIn(directory)).filter((name) => draftOf(name) === this.nodeName);
    for (const draft of drafts) await ifThere(this.fs.unlink(join(directory, draft)));
    if (drafts.length > 0) await this.fs.rmdir(directory).catch(() => undefined);
  }

  private async namesIn(directory: string): Promise<string[]> {
    return (await ifThere(this.fs.readdir(directory))) ?? [];
  }

  private of(digest: string): string {
    return join(this.directory, digest.slice('sha256:'.length));
  }
}

function isGone(error: unknown): boolean {
  return isMissing(error instanceof ContentError ? error.cause : error);
}
