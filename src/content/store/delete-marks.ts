import { join } from 'node:path';
import { type ContentFileSystem, ifThere } from './file-system.js';
import { readMarked } from './layout.js';

/**
 * Where this side counts references: says that a delete is about to look who uses a blob. Whoever counts itself in looks here
 * afterwards, and the deleter counts after it has said so; of two that do so at the same time at least one sees the other.
 *
 * Not durable, and need not be: with the machine goes the deleter.
 */
export class DeleteMarks {
  constructor(
    private readonly directory: string,
    private readonly fs: ContentFileSystem,
  ) {}

  async set(hex: string, token: number): Promise<void> {
    const file = await this.fs.open(this.path(hex, token), 'wx');
    await file.close();
  }

  async clear(hex: string, token: number): Promise<void> {
    await ifThere(this.fs.unlink(this.path(hex, token)));
  }

  /** A later holder of any lock of the resource knows that those before it are over. */
  async clearBelow(hex: string, token: number): Promise<void> {
    for (const lower of await this.of(hex)) if (lower < token) await this.clear(hex, lower);
  }

  async isSet(hex: string): Promise<boolean> {
    return (await this.of(hex)).length > 0;
  }

  private async of(hex: string): Promise<number[]> {
    const names = await this.fs.readdir(this.directory);
    return names.flatMap((name) => {
      const marked = readMarked(name);
      return marked?.hex === hex ? [marked.token] : [];
    });
  }

  private path(hex: string, token: number): string {
    return join(this.directory, `${hex}.${token}`);
  }
}
