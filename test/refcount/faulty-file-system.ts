import * as nodeFs from 'node:fs/promises';
import { basename } from 'node:path';
import { type FileSystem, type OpenFile } from '../../src/refcount/durable-file.js';

export type Step = 'write' | 'sync file' | 'rename' | 'sync directory';

/** The real file system, which writes down its steps and fails or waits where it is told to. */
export class FaultyFileSystem implements FileSystem {
  readonly steps: Step[] = [];
  readonly reads: string[] = [];
  /** Fails every such step until it is cleared; a failing write leaves half its text behind, like a full disk. */
  failing: Step | undefined;
  /** Awaited before each rename. */
  gate: Promise<void> = Promise.resolve();

  readonly mkdir = nodeFs.mkdir;
  readonly readdir = nodeFs.readdir;
  readonly rm = nodeFs.rm;

  async readFile(path: string, encoding: 'utf8'): Promise<string> {
    this.reads.push(basename(path));
    return nodeFs.readFile(path, encoding);
  }

  async open(path: string, flags: 'r' | 'w'): Promise<OpenFile> {
    const file = await nodeFs.open(path, flags);
    return {
      writeFile: async (text) => {
        await file.writeFile(this.failing === 'write' ? text.slice(0, text.length / 2) : text);
        this.take('write');
      },
      sync: async () => {
        this.take(flags === 'r' ? 'sync directory' : 'sync file');
        await file.sync();
      },
      close: () => file.close(),
    };
  }

  async rename(from: string, to: string): Promise<void> {
    await this.gate;
    this.take('rename');
    await nodeFs.rename(from, to);
  }

  /** How often the file was replaced. */
  get writes(): number {
    return this.steps.filter((step) => step === 'rename').length;
  }

  private take(step: Step): void {
    if (this.failing === step)
      throw Object.assign(new Error(`ENOSPC: injected, ${step}`), { code: 'ENOSPC' });
    this.steps.push(step);
  }
}
