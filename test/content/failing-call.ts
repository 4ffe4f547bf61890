import {
  type ContentFile,
  type ContentFileSystem,
  realFileSystem,
} from '../../src/content/store/file-system.js';

/** The real file system, of which one call fails, whichever it is, and which counts what is open. */
export class FailingCall implements ContentFileSystem {
  openFiles = 0;
  private calls = 0;
  private failsAt = Infinity;

  readonly mkdir = this.failing(realFileSystem.mkdir);
  readonly readdir = this.failing(realFileSystem.readdir);
  readonly rename = this.failing(realFileSystem.rename);
  readonly link = this.failing(realFileSystem.link);
  readonly unlink = this.failing(realFileSystem.unlink);
  readonly rmdir = this.failing(realFileSystem.rmdir);
  readonly open = this.failing(async (path: string, flags: 'r' | 'wx') =>
    this.counted(await realFileSystem.open(path, flags)),
  );

  /** The call that is so many from now. */
  fail(call: number): void {
    this.failsAt = this.calls + call;
  }

  get hasFailed(): boolean {
    return this.calls >= this.failsAt;
  }

  private counted(file: ContentFile): ContentFile {
    this.openFiles++;
    return {
      read: this.failing(file.read.bind(file)),
      write: this.failing(file.write.bind(file)),
      readFile: this.failing(file.readFile.bind(file)),
      writeFile: this.failing(file.writeFile.bind(file)),
      stat: this.failing(file.stat.bind(file)),
      truncate: this.failing(file.truncate.bind(file)),
      sync: this.failing(file.sync.bind(file)),
      close: async () => {
        await file.close();
        this.openFiles--;
      },
    };
  }

  private failing<A extends unknown[], T>(call: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
    return async (...args) => {
      if (++this.calls === this.failsAt) throw Object.assign(new Error('EIO: injected'), { code: 'EIO' });
      return call(...args);
    };
  }
}
