import { join } from 'node:path';
import { errnoOf } from '../errors.js';
import { type ContentFileSystem, ifThere, isMissing, makeOne, syncDirectory } from './file-system.js';

const TOKEN = /^\d{1,16}$/;

/** A mark's directory may be cleared away between making it and writing into it; more often is no accident. */
const MAX_TRIES = 8;

/**
 * The highest fencing token seen for each digest, durable and shared. A token is a name in the digest's directory and the
 * highest name counts, so that two nodes that mark at once cannot lower it: there is nothing to read and write back.
 */
export class TokenMarks {
  constructor(
    private readonly directory: string,
    private readonly fs: ContentFileSystem,
  ) {}

  /** 0: none was seen. */
  async highest(hex: string): Promise<number> {
    return Math.max(0, ...(await this.of(hex)));
  }

  /** On disk before it resolves. Lower ones have served. */
  async mark(hex: string, token: number): Promise<void> {
    const directory = join(this.directory, hex);
    for (let tries = 1; ; tries++) {
      try {
        await makeOne(this.fs, directory);
        await this.touch(join(directory, String(token)));
        await syncDirectory(this.fs, directory);
        await syncDirectory(this.fs, this.directory);
        break;
      } catch (error) {
        if (!isMissing(error) || tries === MAX_TRIES) throw error;
      }
    }
    for (const lower of await this.of(hex)) {
      if (lower < token) await ifThere(this.fs.unlink(join(directory, String(lower))));
    }
  }

  private async of(hex: string): Promise<number[]> {
    const names = (await ifThere(this.fs.readdir(join(this.directory, hex)))) ?? [];
    return names.filter((name) => TOKEN.test(name)).map(Number);
  }

  private async touch(path: string): Promise<void> {
    try {
      const file = await this.fs.open(path, 'wx');
      await file.close();
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
    }
  }
}
