import { errnoOf } from '../errors.js';
import { type ContentFileSystem, ifThere, isMissing, syncDirectory } from './file-system.js';
import { type Layout, type Marked, readMarked } from './layout.js';

/**
 * The way out of the store, and back. A blob that was moved here by a holder whose lock had passed on is still somebody's:
 * readers find it here, and it is put back by whoever finds out first, the mover or a later holder.
 */
export class Trash {
  constructor(
    private readonly layout: Layout,
    private readonly fs: ContentFileSystem,
  ) {}

  /** False: there is no such blob. */
  async take(marked: Marked): Promise<boolean> {
    try {
      await this.fs.rename(this.layout.blob(marked.hex), this.layout.trashed(marked));
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  /** By a second name before the first goes, so that the bytes always have one. What is there already stays. */
  async putBack(marked: Marked): Promise<void> {
    const from = this.layout.trashed(marked);
    try {
      await this.fs.link(from, this.layout.blob(marked.hex));
    } catch (error) {
      if (isMissing(error)) return;
      if (errnoOf(error) !== 'EEXIST') return this.fs.rename(from, this.layout.blob(marked.hex));
    }
    await syncDirectory(this.fs, this.layout.blobs);
    await ifThere(this.fs.unlink(from));
  }

  /** Gone for good, also after a crash. */
  async empty(marked: Marked): Promise<void> {
    await ifThere(this.fs.unlink(this.layout.trashed(marked)));
    await syncDirectory(this.fs, this.layout.blobs);
    await syncDirectory(this.fs, this.layout.trash);
  }

  async find(hex?: string): Promise<Marked[]> {
    const names = await this.fs.readdir(this.layout.trash);
    const found = names.map(readMarked).filter((marked) => marked !== undefined);
    return hex === undefined ? found : found.filter((marked) => marked.hex === hex);
  }
}
