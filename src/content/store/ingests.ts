import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { ContentError } from '../errors.js';
import { type ContentFile, type ContentFileSystem, ifThere, makeOne, statIfThere } from './file-system.js';
import { ABOUT, DATA, Ingest, type IngestAbout, readAbout, removeIngest } from './ingest.js';
import { isNodeName, type Layout, refName } from './layout.js';

const NAME = /^([0-9a-f]{64})\.(\d{1,16})\.[0-9a-f]{16}$/;

/** A megabyte a read: as much as containerd sends at once. */
const COPY_BYTES = 1 << 20;

export interface IngestStatus {
  readonly ref: string;
  readonly offset: number;
  readonly total?: number | undefined;
  readonly digest?: string | undefined;
  readonly startedAtMs: number;
  readonly updatedAtMs: number;
}

/** An ingest as it lies on disk. */
export interface StoredIngest {
  readonly directory: string;
  readonly about: IngestAbout | undefined;
  readonly offset: number;
  readonly updatedAtMs: number;
}

/** What is on its way into the store. */
export class Ingests {
  /** Of this process, by directory of the node and name of the ref. */
  private readonly active = new Set<string>();

  constructor(
    private readonly layout: Layout,
    private readonly fs: ContentFileSystem,
  ) {}

  /** Goes on where an earlier ingest of this ref by this node stopped. */
  async begin(about: IngestAbout): Promise<Ingest> {
    const key = join(this.layout.ingestsOf(about.nodeId), refName(about.ref));
    if (this.active.has(key)) {
      throw new ContentError('REF_BUSY', `${about.ref} is being written by this process already.`);
    }
    this.active.add(key);
    try {
      const earlier = await this.find(about.nodeId, about.ref);
      const ingest = await this.create(about, () => this.active.delete(key));
      await this.inherit(ingest, earlier);
      return ingest;
    } catch (error) {
      this.active.delete(key);
      throw error;
    }
  }

  /** All of a node's, or those of one ref. */
  async find(nodeId: string, ref?: string): Promise<StoredIngest[]> {
    return this.findIn(this.layout.ingestsOf(nodeId), ref === undefined ? undefined : refName(ref));
  }

  async findAll(): Promise<StoredIngest[]> {
    const nodes = (await this.fs.readdir(this.layout.ingests)).filter(isNodeName);
    const found = await Promise.all(nodes.map((node) => this.findIn(join(this.layout.ingests, node))));
    return found.flat();
  }

  async remove({ directory }: StoredIngest): Promise<void> {
    await removeIngest(this.fs, directory);
  }

  /** Whether this process writes it now. */
  isActive({ directory }: StoredIngest): boolean {
    return [...this.active].some((key) => directory.startsWith(`${key}.`));
  }

  private async findIn(parent: string, name?: string): Promise<StoredIngest[]> {
    const names = (await ifThere(this.fs.readdir(parent))) ?? [];
    const chosen = names.filter(
      (one) => NAME.test(one) && (name === undefined || one.startsWith(`${name}.`)),
    );
    return Promise.all(chosen.map((one) => this.look(join(parent, one))));
  }

  private async look(directory: string): Promise<StoredIngest> {
    const about = await readAbout(this.fs, directory);
    const data = await statIfThere(this.fs, join(directory, DATA));
    const { mtimeMs = 0 } = data ?? (await statIfThere(this.fs, directory)) ?? {};
    return { directory, about, offset: data?.size ?? 0, updatedAtMs: mtimeMs };
  }

  private async create(about: IngestAbout, onClosed: () => void): Promise<Ingest> {
    const name = `${refName(about.ref)}.${about.token}.${randomBytes(8).toString('hex')}`;
    const parent = this.layout.ingestsOf(about.nodeId);
    const directory = join(parent, name);
    await makeOne(this.fs, parent);
    await makeOne(this.fs, directory);
    let data: ContentFile | undefined;
    try {
      await this.describe(join(directory, ABOUT), about);
      data = await this.fs.open(join(directory, DATA), 'wx');
      return new Ingest(this.fs, directory, data, about, onClosed);
    } catch (error) {
      await data?.close();
      await removeIngest(this.fs, directory).catch(() => undefined);
      throw error;
    }
  }

  private async describe(path: string, about: IngestAbout): Promise<void> {
    const file = await this.fs.open(path, 'wx');
    try {
      await file.writeFile(JSON.stringify(about));
    } finally {
      await file.close();
    }
  }

  /** The bytes of the longest of them that is of the same blob; then they have served. */
  private async inherit(ingest: Ingest, earlier: readonly StoredIngest[]): Promise<void> {
    const usable = earlier
      .filter((one) => isContinuation(one, ingest.about))
      .sort((a, b) => b.offset - a.offset)[0];
    try {
      if (usable) await this.copy(usable, ingest);
    } catch (error) {
      await ingest.remove().catch(() => undefined);
      throw error;
    }
    try {
      for (const { directory } of earlier) await removeIngest(this.fs, directory);
    } catch (error) {
      await ingest.close().catch(() => undefined);
      throw error;
    }
  }

  private async copy({ directory }: StoredIngest, ingest: Ingest): Promise<void> {
    const file = await this.fs.open(join(directory, DATA), 'r');
    try {
      const buffer = Buffer.allocUnsafe(COPY_BYTES);
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, buffer.length, ingest.offset);
        if (bytesRead === 0) return;
        await ingest.write(buffer.subarray(0, bytesRead));
      }
    } finally {
      await file.close();
    }
  }
}

/** The same blob, and not more of it than there can be. */
function isContinuation({ about, offset }: StoredIngest, wanted: IngestAbout): boolean {
  return about?.digest === wanted.digest && offset > 0 && offset <= (wanted.total ?? Infinity);
}
