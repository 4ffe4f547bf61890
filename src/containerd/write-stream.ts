import { type Flight, type Wish } from './flight.js';
import { type Flights } from './flights.js';
import { type WriteCall } from './wire/calls.js';
import { checkedDigest } from './wire/checked-digest.js';
import { ACTION, type Status, timestamp, type WriteRequest, type WriteResponse } from './wire/messages.js';
import { CODE, invalid, RpcError } from './grpc/rpc-error.js';
import { announcedDigest } from './wire/write-ref.js';

/**
 * One `Write` stream of containerd.
 *
 * containerd sends the first message inside its one write transaction, COMMIT and the STAT before it inside another, and all others
 * outside. So the first is answered at once, from what is known here, the wait for the lock happens on the second, and whatever
 * else there is to wait for on that which brings the last byte. The offset that the first answer told must stay true, unless the blob
 * turned up meanwhile: then the offset is its size and containerd commits.
 */
export class WriteStream implements WriteCall {
  private ref = '';
  private total = 0;
  private expected = '';
  private startedAtMs = Date.now();
  private updatedAtMs = this.startedAtMs;
  /** What the first answer said. */
  private toldOffset = 0;
  private opening: Promise<Flight> | undefined;
  private flight: Flight | undefined;
  /** Over when what the flight was last told to do is done, or has failed. */
  private underWay: Promise<unknown> = Promise.resolve();
  private readonly ended = new AbortController();
  private closing: Promise<void> | undefined;

  constructor(
    private readonly flights: Flights,
    cancelled: AbortSignal,
  ) {
    cancelled.addEventListener('abort', () => this.ended.abort(), { once: true });
  }

  async answer(request: WriteRequest): Promise<WriteResponse> {
    if (this.ref === '') {
      await this.begin(request);
      if (request.action === ACTION.stat) return this.response(request.action);
    }
    this.narrow(request);
    this.flight = await this.opened();
    if (request.action === ACTION.stat) return this.response(request.action);
    if (request.action === ACTION.write) return this.write(request, this.flight);
    if (request.action === ACTION.commit) return this.commit(request, this.flight);
    throw new RpcError(CODE.unimplemented, `There is no write action ${request.action}.`);
  }

  status(): Status {
    const { ref, total, expected } = this;
    return {
      ref,
      total,
      expected,
      offset: this.flight?.offset ?? this.toldOffset,
      started_at: timestamp(this.startedAtMs),
      updated_at: timestamp(this.updatedAtMs),
    };
  }

  close(): Promise<void> {
    return (this.closing ??= this.closeNow());
  }

  /** Not once it is over: nobody would ever close what is opened then. */
  private async opened(): Promise<Flight> {
    const { signal } = this.ended;
    try {
      signal.throwIfAborted();
      return await (this.opening ??= this.flights.open(this.wish, signal));
    } catch (error) {
      throw signal.aborted ? this.aborted(error) : error;
    }
  }

  /** One that was aborted is closed when this is done, and nothing is done after it: what is committed is committed as a whole. */
  private during<T>(task: () => Promise<T>): Promise<T> {
    if (this.closing) throw this.aborted();
    const work = task();
    this.underWay = work.catch(() => undefined);
    return work;
  }

  private aborted(cause?: unknown): RpcError {
    return new RpcError(CODE.unavailable, `The write of ${this.ref} was aborted: begin again.`, cause);
  }

  /** The ref is free at once, if nothing but its first message has come. */
  private async closeNow(): Promise<void> {
    try {
      this.ended.abort();
      if (!this.opening) return;
      const flight = await this.opening.catch(() => undefined);
      await this.underWay;
      await flight?.close();
    } finally {
      if (this.ref !== '') this.flights.leave(this.ref, this);
    }
  }

  private async begin(request: WriteRequest): Promise<void> {
    const { ref } = request;
    if (ref === '') throw invalid('The first message of a write must have a ref.');
    this.flights.enter(ref, this);
    this.ref = ref;
    this.narrow(request);
    const earlier = await this.flights.left(this.wish);
    if (!earlier) return;
    this.toldOffset = earlier.offset;
    this.startedAtMs = earlier.startedAtMs;
    this.updatedAtMs = earlier.updatedAtMs;
  }

  private get wish(): Wish {
    const { ref, total, expected } = this;
    const digest = announcedDigest(ref) ?? (expected === '' ? undefined : expected);
    return { ref, digest, total: total === 0 ? undefined : total };
  }

  /** Total and digest may be told by any message, and not be told otherwise by a later one. */
  private narrow({ total, expected }: WriteRequest): void {
    if (total < 0) throw invalid(`The total of ${this.ref} must not be negative.`);
    if (expected !== '') {
      if (this.expected !== '' && this.expected !== expected)
        throw invalid(`${this.ref}: ${expected} is expected now, it was ${this.expected}.`);
      this.expected = checkedDigest(expected);
    }
    if (total > 0) {
      if (this.total > 0 && this.total !== total)
        throw invalid(`${this.ref}: ${total} bytes are announced now, it was ${this.total}.`);
      this.total = total;
    }
  }

  private async write({ action, offset, data }: WriteRequest, flight: Flight): Promise<WriteResponse> {
    if (offset === 0 && flight.offset > 0) await this.during(() => flight.restart());
    if (offset !== flight.offset)
      throw new RpcError(CODE.outOfRange, `write @${offset} must occur at current offset ${flight.offset}`);
    if (data.length > 0) await this.during(() => flight.write(data));
    this.updatedAtMs = Date.now();
    return this.response(action);
  }

  /** The ref is free when it is answered. containerd sends no data with it, others may. Its offset says nothing: where the blob turned up while the lock was waited for it is still the one that was told first. */
  private async commit(request: WriteRequest, flight: Flight): Promise<WriteResponse> {
    if (request.data.length > 0) await this.write(request, flight);
    const must = { digest: this.expected === '' ? undefined : this.expected, total: this.wish.total };
    const { labels } = request;
    const { digest, size } = await this.during(() => flight.commit({ ...must, labels }));
    this.updatedAtMs = Date.now();
    await this.close();
    return { ...this.response(request.action), offset: size, total: size, digest };
  }

  private response(action: number): WriteResponse {
    const { offset, total, started_at, updated_at } = this.status();
    return { action, offset, total, started_at, updated_at, digest: this.flight?.digest ?? '' };
  }
}
