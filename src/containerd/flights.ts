import { ContentWriter, type ContentNode, type IngestStatus } from '../content/index.js';
import { type Clock, SystemClock } from '../client/index.js';
import { type Flight, PresentFlight, type Wish } from './flight.js';
import { type NodeBlobs } from './node/node-blobs.js';
import { isPrompt } from './node/promptly.js';
import { type ServerLink } from './node/server-link.js';
import { CODE, RpcError } from './grpc/rpc-error.js';
import { type WriteStream } from './write-stream.js';
import { WritingFlight } from './writing-flight.js';

/** The writes of this process. One stream a ref; of several refs with one digest the lock lets one through at a time. */
export class Flights {
  private readonly streams = new Map<string, WriteStream>();

  constructor(
    private readonly node: ContentNode,
    private readonly blobs: NodeBlobs,
    private readonly link: ServerLink,
    private readonly clock: Clock = new SystemClock(),
  ) {}

  /** containerd tries again on UNAVAILABLE, until the stream before it is over. */
  enter(ref: string, stream: WriteStream): void {
    if (this.streams.has(ref)) throw new RpcError(CODE.unavailable, `ref ${ref} locked: it is being written`);
    this.streams.set(ref, stream);
  }

  leave(ref: string, stream: WriteStream): void {
    if (this.streams.get(ref) === stream) this.streams.delete(ref);
  }

  get(ref: string): WriteStream | undefined {
    return this.streams.get(ref);
  }

  all(): WriteStream[] {
    return [...this.streams.values()];
  }

  /**
   * Inside containerd's transaction, too. The bytes go; what the server is to be told of it may take longer than that, and until then the
   * ref is not free.
   */
  async abort(ref: string): Promise<void> {
    const stream = this.streams.get(ref);
    if (stream) await isPrompt(this.clock, stream.close());
    await this.node.store.abort(this.node.nodeId, ref);
  }

  /** What an earlier stream has left of this very blob. */
  async left({ ref, digest, total = Infinity }: Wish): Promise<IngestStatus | undefined> {
    const status = await this.node.store.status(this.node.nodeId, ref);
    return status && status.digest === digest && status.offset <= total ? status : undefined;
  }

  /** Waits while another writes the blob. */
  async open(wish: Wish, signal: AbortSignal): Promise<Flight> {
    const { digest } = wish;
    if (digest === undefined) return this.writing(await this.openLoose(wish), wish);
    await this.blobs.claim(digest);
    let writing: WritingFlight | undefined;
    try {
      const writer = await this.openWriter(wish, digest, signal);
      writing = writer && this.writing(writer, wish);
      await writing?.landIfWhole();
      const flight = writing ?? (await this.present(digest));
      if (flight) return flight;
      throw new RpcError(CODE.unavailable, `${digest} was there a moment ago: try again.`);
    } catch (error) {
      await (writing ? writing.close() : this.blobs.unclaim(digest)).catch(() => undefined);
      throw error;
    }
  }

  private writing(writer: ContentWriter, wish: Wish): WritingFlight {
    const withoutLock = {
      find: (digest: string, why: unknown) => {
        this.link.noticed(why);
        return this.find(digest);
      },
      open: (again: Wish) => this.openLoose(again),
    };
    return new WritingFlight(writer, wish, this.blobs, withoutLock);
  }

  private async present(digest: string): Promise<Flight | undefined> {
    const info = await this.node.store.info(digest);
    return info && new PresentFlight(digest, info.size, this.blobs, 'was there already');
  }

  /** Counted or marked first, then looked for. */
  private async find(digest: string): Promise<Flight | undefined> {
    await this.blobs.count(digest);
    return (await this.node.store.has(digest)) ? this.present(digest) : undefined;
  }

  /** `undefined`: it is there, and this node is counted or has marked it. */
  private async openWriter(
    wish: Wish,
    digest: string,
    signal: AbortSignal,
  ): Promise<ContentWriter | undefined> {
    const { ref, total } = wish;
    try {
      const { writer } = await this.link.call(() => this.node.openWriter(ref, digest, total, { signal }));
      return writer;
    } catch (error) {
      if (!this.blobs.mayProceed(error)) throw error;
      return (await this.find(digest)) ? undefined : this.openLoose(wish);
    }
  }

  /**
   * Without a lock: this node is counted, or marks the blob, before the bytes get their name. What has no name before COMMIT gets it inside
   * containerd's transaction, and is counted promptly or later.
   */
  private async openLoose(wish: Wish): Promise<ContentWriter> {
    const { store, nodeId } = this.node;
    const ingest = await store.begin({ ...wish, nodeId, token: 0 });
    const publish = async () => {
      await ingest.finish();
      await (wish.digest === undefined
        ? this.blobs.countPromptly(ingest.digest)
        : this.blobs.count(ingest.digest));
      await store.publish(ingest, false, async () => undefined);
    };
    return new ContentWriter(ingest, { publish, fail: async () => undefined }, undefined, undefined);
  }
}
