import { type NodeBlobs } from './node/node-blobs.js';
import { type NodeRecord } from './node/node-records.js';
import { CODE, RpcError } from './grpc/rpc-error.js';

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
  /** Inside containerd's transaction: waits for nobody, and for the server at most as long as `countPromptly` does. */
  commit(must: Commitment): Promise<{ readonly digest: string; readonly size: number }>;
  /** A failure unless committed. */
  close(): Promise<void>;
}

/** The blob is there and this node is counted: it remains to be said so. */
export class PresentFlight implements Flight {
  private isSettled = false;

  constructor(
    readonly digest: string,
    private readonly size: number,
    private readonly blobs: NodeBlobs,
    /** It came to be there, for people. */
    private readonly how: string,
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
    if (digest !== undefined && digest !== this.digest)
      throw new RpcError(CODE.failedPrecondition, `${digest} is not ${this.digest}.`);
    if (total !== undefined && total !== this.size)
      throw new RpcError(CODE.failedPrecondition, `${this.digest} has ${this.size} bytes, not ${total}.`);
    await this.blobs.settle(this.digest, this.size, labels, this.how);
    this.isSettled = true;
    return { digest: this.digest, size: this.size };
  }

  /** What was settled is answered for: a delete that has its turn just now, and asks the server, keeps nobody waiting. */
  async close(): Promise<void> {
    const unclaimed = this.blobs.unclaim(this.digest);
    if (!this.isSettled) await unclaimed;
  }
}
