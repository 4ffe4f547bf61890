import { type Hold } from '../client/hold.js';
import { isFatal } from '../client/fatal.js';
import { stale } from './content-locks.js';
import { ContentError } from './errors.js';
import { type BlobInfo } from './store/content-store.js';
import { type Ingest } from './store/ingest.js';

/** What a writer needs of its node. */
export interface WriterEnds {
  /** Makes the bytes everybody's and reports success. */
  publish(ingest: Ingest, hold: Hold | undefined): Promise<void>;
  fail(hold: Hold, error: unknown): Promise<void>;
}

/**
 * Writes one blob under its lock. Commit or close it: until then everybody else waits.
 *
 * Promises: what `commit` resolved for is in the store, verified, on disk, and this node is counted as its user. Whatever else
 * happens (a thrown error, an abort, `close` without `commit`, a lost hold) is reported as failure and leaves nothing visible; bytes that may
 * be of use are kept for the next writer of the same ref on this node.
 */
export class ContentWriter implements AsyncDisposable {
  /** All calls so far are over. */
  private settled: Promise<void> = Promise.resolve();
  private ending: Promise<void> | undefined;
  private isCommitted = false;
  private failure: unknown;
  /** Some of the bytes are those of an earlier try, and were on a disk meanwhile. */
  private isResumed: boolean;

  constructor(
    private readonly ingest: Ingest,
    private readonly ends: WriterEnds,
    private readonly hold: Hold | undefined,
    private readonly abortedBy: AbortSignal | undefined,
  ) {
    this.isResumed = ingest.offset > 0;
    abortedBy?.addEventListener('abort', this.onAbort, { once: true });
    hold?.signal.addEventListener('abort', this.onLost, { once: true });
    if (abortedBy?.aborted) this.onAbort();
    else if (hold?.isLost) this.onLost();
  }

  get ref(): string {
    return this.ingest.about.ref;
  }

  /** What was asked for; `undefined` for a blob that is named when it is committed. */
  get expected(): string | undefined {
    return this.ingest.about.digest;
  }

  get total(): number | undefined {
    return this.ingest.about.total;
  }

  /** The fencing token; 0 without a lock. */
  get token(): number {
    return this.ingest.about.token;
  }

  get startedAtMs(): number {
    return this.ingest.about.startedAtMs;
  }

  /** How many bytes there are: at the beginning those of an earlier try. */
  get offset(): number {
    return this.ingest.offset;
  }

  /** Of the bytes so far. */
  get digest(): string {
    return this.ingest.digest;
  }

  /** Appends. After an error the writer is closed. */
  write(data: Uint8Array): Promise<void> {
    return this.inTurn(async () => {
      this.assertOpen();
      const { total = Infinity } = this;
      const length = this.offset + data.length;
      if (length > total) throw tooLong(this.ref, length, total);
      try {
        await this.ingest.write(data);
      } catch (cause) {
        throw ContentError.from(`writing ${this.ref}`, cause);
      }
    });
  }

  /** Throws away what was written, to begin again. */
  restart(): Promise<void> {
    return this.inTurn(async () => {
      this.assertOpen();
      try {
        await this.ingest.restart();
        this.isResumed = false;
      } catch (cause) {
        throw ContentError.from(`beginning ${this.ref} again`, cause);
      }
    });
  }

  /** Verifies, publishes and reports. `digest` and `size`: what the bytes must be, if that was not said before. */
  async commit(must: { readonly digest?: string; readonly size?: number } = {}): Promise<BlobInfo> {
    await this.inTurn(async () => {
      this.assertOpen();
      this.verify(must);
      this.isCommitted = true;
      await this.ends.publish(this.ingest, this.hold);
      this.ending = Promise.resolve();
      this.forget();
    });
    return { digest: this.digest, size: this.offset, createdAtMs: this.ingest.finishedAtMs };
  }

  /** A failure unless committed. The reason is reported; marked as fatal (`FatalError`, a 404) it sends everybody away. */
  close(reason: unknown = new ContentError('CLOSED', 'closed without commit')): Promise<void> {
    if (this.isCommitted) return this.settled.then(() => this.ending);
    return (this.ending ??= this.end(reason));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Calls run one after the other; the first error ends the writer, before it is thrown. */
  private inTurn(task: () => Promise<void>): Promise<void> {
    const result = this.settled.then(task);
    this.settled = result.catch((error: unknown) => {
      this.isCommitted = false;
      this.ending ??= this.end(error);
    });
    return result.catch(async (error: unknown) => {
      await this.ending;
      throw error;
    });
  }

  /** What is being written is awaited: then nothing is, and the file can be closed. */
  private async end(reason: unknown): Promise<void> {
    this.failure = reason;
    this.forget();
    await this.settled;
    const { ingest, hold } = this;
    await (isOfNoUse(reason) ? ingest.remove() : ingest.close()).catch(() => undefined);
    if (hold) await this.ends.fail(hold, reason);
  }

  private assertOpen(): void {
    if (this.hold?.isLost) throw stale(this.hold, this.hold.signal.reason);
    if (!this.ending && !this.isCommitted) return;
    throw new ContentError('CLOSED', `The writer of ${this.ref} was closed.`, this.failure);
  }

  private verify({ digest, size }: { readonly digest?: string; readonly size?: number }): void {
    const { offset, total = size } = this;
    for (const wanted of [total, size]) {
      if (wanted !== undefined && offset < wanted) throw tooShort(this.ref, offset, wanted);
      if (wanted !== undefined && offset > wanted) throw tooLong(this.ref, offset, wanted);
    }
    for (const wanted of [this.expected, digest]) {
      if (wanted === undefined || wanted === this.digest) continue;
      const isOfSource = wanted === this.expected && !this.isResumed;
      const message = `${this.ref}: expected ${wanted}, got ${this.digest}.`;
      throw new ContentError('DIGEST_MISMATCH', message, undefined, isOfSource);
    }
  }

  private forget(): void {
    this.abortedBy?.removeEventListener('abort', this.onAbort);
    this.hold?.signal.removeEventListener('abort', this.onLost);
  }

  private readonly onAbort = () => void this.close(this.abortedBy?.reason).catch(() => undefined);
  private readonly onLost = () => void this.close(this.hold?.signal.reason).catch(() => undefined);
}

/** Wrong bytes help nobody, and on a full disk every byte is in the way. */
function isOfNoUse(error: unknown): boolean {
  return isFatal(error) || (error instanceof ContentError && OF_NO_USE.has(error.code));
}

const OF_NO_USE: ReadonlySet<string> = new Set(['DIGEST_MISMATCH', 'NO_SPACE', 'TOO_LONG']);

function tooShort(ref: string, length: number, wanted: number): ContentError {
  return new ContentError('TOO_SHORT', `${ref}: ${length} bytes instead of ${wanted}: the body broke off.`);
}

function tooLong(ref: string, length: number, wanted: number): ContentError {
  return new ContentError('TOO_LONG', `${ref}: ${length} bytes or more instead of ${wanted}.`);
}
