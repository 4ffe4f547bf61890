import { dirname, join } from 'node:path';
import { ContentError } from '../../content/index.js';
import {
  type ContentFileSystem,
  ifThere,
  makeDirectory,
  realFileSystem,
  syncDirectory,
} from '../../content/store/file-system.js';
import { draftOf, removeDurably, writeDurably } from './durable-file.js';

/** What this node knows of a blob in the shared store. */
export interface NodeRecord {
  readonly digest: string;
  /**
   * `claimed`: a write is under way, the server may count this node already. `used`: containerd was told that it is there.
   * `leaving`: containerd has given it up; the reference, and with the last one the bytes, are still to go.
   */
  readonly state: 'claimed' | 'used' | 'leaving';
  readonly size: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly labels: Readonly<Record<string, string>>;
}

const HEX = /^[0-9a-f]{64}$/;
const STATES: ReadonlySet<unknown> = new Set(['claimed', 'used', 'leaving']);

/**
 * The node's own durable record of what it uses, one small file a blob below the shared directory. Read once at the start;
 * nobody else writes there.
 */
export class NodeRecords {
  private constructor(
    private readonly directory: string,
    private readonly records: Map<string, NodeRecord>,
    private readonly fs: ContentFileSystem,
  ) {}

  /** The directory is there to stay, whichever process has made it. */
  static async open(directory: string, fs = realFileSystem): Promise<NodeRecords> {
    await makeDirectory(fs, directory);
    await syncDirectory(fs, dirname(directory));
    const names = await fs.readdir(directory);
    for (const draft of names.filter((name) => HEX.test(draftOf(name) ?? '')))
      await ifThere(fs.unlink(join(directory, draft)));
    const records = new Map<string, NodeRecord>();
    for (const name of names.filter((name) => HEX.test(name))) {
      const record = await readRecord(fs, join(directory, name), `sha256:${name}`);
      records.set(record.digest, record);
    }
    return new NodeRecords(directory, records, fs);
  }

  get(digest: string): NodeRecord | undefined {
    return this.records.get(digest);
  }

  /** Containerd was told that it is there, and has not given it up. */
  used(digest: string): NodeRecord | undefined {
    const record = this.records.get(digest);
    return record?.state === 'used' ? record : undefined;
  }

  all(): NodeRecord[] {
    return [...this.records.values()];
  }

  async put(record: NodeRecord): Promise<void> {
    await writeDurably(this.pathOf(record.digest), JSON.stringify(record), this.fs);
    this.records.set(record.digest, record);
  }

  /**
   * As `put`, for what is given up: a disk that is full or fails does not hinder it. Then this process alone knows, and after a
   * crash it may be as it was before. Nor may this process go on using what the disk says is given up.
   */
  async putIfPossible(record: NodeRecord): Promise<void> {
    try {
      await this.put(record);
    } catch (error) {
      if (!(error instanceof ContentError)) throw error;
      this.records.set(record.digest, record);
    }
  }

  async remove(digest: string): Promise<void> {
    this.records.delete(digest);
    await removeDurably(this.pathOf(digest), this.fs);
  }

  private pathOf(digest: string): string {
    return join(this.directory, digest.slice('sha256:'.length));
  }
}

/** Without a record nobody knows what containerd was told: that is for a person to decide. */
async function readRecord(fs: ContentFileSystem, path: string, digest: string): Promise<NodeRecord> {
  const text = await textOf(fs, path);
  try {
    const record = JSON.parse(text) as NodeRecord;
    if (record.digest === digest && STATES.has(record.state)) return record;
  } catch {
    // Said below.
  }
  throw new ContentError(
    'IO',
    `${path} is damaged: remove it, start again, and pull the images that use ${digest} again.`,
  );
}

async function textOf(fs: ContentFileSystem, path: string): Promise<string> {
  const file = await fs.open(path, 'r');
  try {
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
