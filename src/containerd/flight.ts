import { ContentError, type ContentWriter } from '../content/index.js';
import { type NodeBlobs } from './node/node-blobs.js';
import { type NodeRecord } from './node/node-records.js';
import { isUnreachable } from './node/server-link.js';
import { CODE, invalid, RpcError } from './grpc/rpc-error.js';

/** What a stream wants to write. */
export interface Wish {
  readonly ref: string;
  /** Unknown for what is named when it is committed. */
  readonly digest: string | undefined;
  readonly total: number | undefined;
}

export interface Commitment {
  /** What the bytes must be, as far as containerd has said. */
  readonly digest: string | undefined;
  readonly total: number | undefined;
  readonly labels: NodeRecord['labels'];
}

/** A write that may go on: it holds the lock, needs none, or has nothing to write. */
export interface Flight {
  readonly offset: number;
  /** Of the bytes so far. */
  readonly digest: string;
  write(data: Uint8Array): Promise<void>;
  /** From the beginning. */
  restart(): Promise<void>;
  commit(must: Commitment): Promise<{ readonly digest: string; readonly size: number }>;
  /** A failure unless committed. */
  close(): Promise<void>;
}

/** The blob is there and this node is counted: it remains to be said so. */
export class PresentFlight implements Flight {
  constructor(
    readonly digest: string,
    private readonly size: number,
    private readonly blobs: NodeBlobs,
  ) {}

  get offset(): number {
    return this.size;
  }

  async write(): Promise<void> {
    throw new RpcError(CODE.alreadyExists, `${this.digest}: already exists`);
  }

  restart(): Promise<void> {
    return this.write();
  }

  async commit({ digest, total, labels }: Commitment): Promise<{ digest: string; size: number }> {
    if (digest !== undefined && digest !== this.digest) throw invalid(`${digest} is not ${this.digest}.`);
    if (total !== undefined && total !== this.size)
      throw new RpcError(CODE.failedPrecondition, `${this.digest} has ${this.size} bytes, not ${total}.`);
    await this.blobs.settle(this.digest, this.size, labels, 'was there already');
    return { digest: this.digest, size: this.size };
  }

  close(): Promise<void> {
    return this.blobs.unclaim(this.digest);
  }
}

/** What is left to a write whose hold was lost. */
export interface WithoutLock {
  /** The blob, if it is there after all; this node is counted or has marked it. */
  find(digest: string): Promise<Flight | undefined>;
  /** A writer that needs no lock. */
  open(wish: Wish): Promise<ContentWriter>;
}

/**
 * Bytes are being written. When the hold is lost on the way (the server is gone, this process was stopped for too long) the
 * download goes on without it: another node may fetch the same, but no pull fails. So it is when the bytes have their name
 * already and nobody could be told. What is committed has the right digest in any case.
 */
export class WritingFlight implements Flight {
  private isOver = false;
  /** The digest this flight has claimed, once it is known. */
  private claimed: string | undefined;

  constructor(
    private writer: ContentWriter,
    private readonly wish: Wish,
    private readonly blobs: NodeBlobs,
    private readonly withoutLock: WithoutLock,
  ) {
    this.claimed = wish.digest;
  }

  get offset(): number {
    return this.writer.offset;
  }

  get digest(): string {
    return this.writer.digest;
  }

  async write(data: Uint8Array): Promise<void> {
    try {
      await this.writer.write(data);
    } catch (error) {
      if (!this.isOvertaken(error)) throw error;
      await this.goOnLoose();
      await this.writer.write(data);
    }
  }

  restart(): Promise<void> {
    return this.writer.restart();
  }

  async commit(commitment: Commitment): Promise<{ digest: string; size: number }> {
    const { digest, total, labels } = commitment;
    const must = { ...(digest !== undefined && { digest }), ...(total !== undefined && { size: total }) };
    if (this.claimed === undefined) {
      const named = this.digest;
      await this.blobs.claim(named);
      this.claimed = named;
    }
    try {
      await this.writer.commit(must);
    } catch (error) {
      if (!this.isOvertaken(error)) throw error;
      const found = await this.withoutLock.find(this.claimed);
      if (found) return found.commit(commitment);
      await this.goOnLoose();
      await this.writer.commit(must);
    }
    const { offset: size } = this;
    await this.blobs.settle(this.claimed, size, labels, 'was written');
    return { digest: this.claimed, size };
  }

  async close(): Promise<void> {
    this.isOver = true;
    await this.writer.close();
    if (this.claimed !== undefined) await this.blobs.unclaim(this.claimed);
  }

  private isOvertaken(error: unknown): boolean {
    if (this.isOver || this.writer.token === 0) return false;
    if (isUnreachable(error)) return true;
    return error instanceof ContentError && (error.code === 'STALE' || error.code === 'CLOSED');
  }

  private async goOnLoose(): Promise<void> {
    const { offset } = this.writer;
    await this.writer.close();
    this.writer = await this.withoutLock.open(this.wish);
    if (this.writer.offset === offset) return;
    throw new RpcError(CODE.unavailable, `${this.wish.ref}: what was written is lost, begin again.`);
  }
}
