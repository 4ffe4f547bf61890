import { type ContentFile } from './file-system.js';

/** A blob that is open. It can be read to the end even if it is deleted meanwhile. Close it. */
export class BlobReader implements AsyncDisposable {
  private constructor(
    readonly digest: string,
    readonly size: number,
    private readonly file: ContentFile,
  ) {}

  static async over(digest: string, file: ContentFile): Promise<BlobReader> {
    try {
      return new BlobReader(digest, (await file.stat()).size, file);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Up to `length` bytes from `offset`; fewer only at the end. Reads may overlap. In `memory`, if that is given. */
  async read(offset: number, length: number, memory?: Buffer): Promise<Buffer> {
    const wanted = Math.max(0, Math.min(length, this.size - offset));
    const buffer = memory?.subarray(0, wanted) ?? Buffer.allocUnsafe(wanted);
    let filled = 0;
    while (filled < wanted) {
      const { bytesRead } = await this.file.read(buffer, filled, wanted - filled, offset + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return filled === wanted ? buffer : buffer.subarray(0, filled);
  }

  close(): Promise<void> {
    return this.file.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
