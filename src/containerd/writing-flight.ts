import { ContentError, type ContentWriter } from '../content/index.js';
import { type Commitment, type Flight, PresentFlight, type Wish } from './flight.js';
import { CODE, RpcError } from './grpc/rpc-error.js';
import { type NodeBlobs } from './node/node-blobs.js';
import { isUnreachable } from './node/server-link.js';

/** What is left to a write whose hold was lost. */
export interface WithoutLock {
  /** The blob, if it is there after all; this node is counted or has marked it. `why` the hold is of no use. */
  find(digest: string, why: unknown): Promise<Flight | undefined>;
  /** A writer that needs no lock. */
  open(wish: Wish): Promise<ContentWriter>;
}

/**
 * Bytes are being written. When the hold is lost on the way (the server is gone, this process was stopped for too long) the
 * download goes on without it: another node may fetch the same, but no pull fails. So it is when the bytes have their name
 * already and nobody could be told. What is committed has the right digest in any case.
 *
 * It lands with the last byte: the blob gets its name and this node is counted before that byte is answered, because COMMIT comes
 * inside containerd's transaction, where nobody may be waited for. Only what has no name until COMMIT lands there.
 */
export class WritingFlight implements Flight {
  private isOver = false;
  /** The digest this flight has claimed, once it is known. */
  private claimed: string | undefined;
  private landed: Flight | undefined;

  constructor(
    private writer: ContentWriter,
    private readonly wish: Wish,
    private readonly blobs: NodeBlobs,
    private readonly withoutLock: WithoutLock,
  ) {
    this.claimed = wish.digest;
  }

  get offset(): number {
    return (this.landed ?? this.writer).offset;
  }

  get digest(): string {
    return (this.landed ?? this.writer).digest;
  }

  async write(data: Uint8Array): Promise<void> {
    if (this.landed) return this.landed.write(data);
    try {
      await this.writer.write(data);
    } catch (error) {
      if (!this.isOvertaken(error)) throw error;
      await this.goOnLoose();
      await this.writer.write(data);
    }
    await this.landIfWhole();
  }

  /** An earlier try may have left all of it. */
  async landIfWhole(): Promise<void> {
    const { digest, total = this.offset } = this.wish;
    if (digest === undefined || total !== this.offset || this.digest !== digest) return;
    this.landed = await this.land(digest);
  }

  restart(): Promise<void> {
    return (this.landed ?? this.writer).restart();
  }

  async commit(commitment: Commitment): Promise<{ digest: string; size: number }> {
    if (!this.landed) {
      this.verify(commitment);
      this.landed = await this.landNamed(this.digest);
    }
    return this.landed.commit(commitment);
  }

  async close(): Promise<void> {
    this.isOver = true;
    await this.writer.close();
    if (this.landed) await this.landed.close();
    else if (this.claimed !== undefined) await this.blobs.unclaim(this.claimed);
  }

  /** What was announced and has not landed is something else. The server is told so when containerd has been. */
  private verify({ digest, total }: Commitment): void {
    try {
      this.writer.verify({
        ...(digest !== undefined && { digest }),
        ...(total !== undefined && { size: total }),
      });
    } catch (error) {
      void this.writer.close(error).catch(() => undefined);
      throw error;
    }
  }

  private async landNamed(digest: string): Promise<Flight> {
    if (this.claimed === undefined) {
      await this.blobs.claimPromptly(digest);
      this.claimed = digest;
    }
    return this.land(digest);
  }

  private async land(digest: string): Promise<Flight> {
    try {
      await this.writer.commit();
    } catch (error) {
      if (!this.isOvertaken(error)) throw error;
      const found = await this.withoutLock.find(digest, error);
      if (found) return found;
      await this.goOnLoose();
      await this.writer.commit();
    }
    return new PresentFlight(digest, this.writer.offset, this.blobs, 'was written');
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
