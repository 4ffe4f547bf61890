import { type FrameWriter } from './frame-writer.js';
import { FLAG, FRAME, H2_ERROR, type H2ErrorCode, MAX_FRAME_BYTES, MAX_WINDOW_BYTES } from './protocol.js';
import { ReceiveWindow } from './receive-window.js';

/** Whoever answers a request. */
export interface StreamListener {
  data(payload: Buffer): void;
  /** The request is complete. */
  ended(): void;
  /** There is nobody to answer any more. */
  cut(): void;
}

/** What streams share. */
export interface StreamHost {
  readonly writer: FrameWriter;
  /** What the peer takes on all streams together. */
  sendWindow: number;
  /** Whether the peer takes what is written. */
  readonly isOpenForData: boolean;
  /** Header blocks go in the order they are sent: the peer's table is one for all streams. */
  headers(streamId: number, flags: number, block: Buffer): void;
  /** To be pumped when the host can take more. */
  block(stream: Http2Stream): void;
  /** Both sides are done with it. */
  forget(stream: Http2Stream): void;
}

/** A request and its answer. What is written when the stream is over goes nowhere. */
export class Http2Stream {
  listener: StreamListener | undefined;
  /** The peer has sent all it had to send. */
  isRemoteEnded = false;
  private isOver = false;
  private queue: Uint8Array[] = [];
  /** Sent already of the first in the queue. */
  private sent = 0;
  private trailers: Buffer | undefined;
  private wake: (() => void) | undefined;

  constructor(
    readonly id: number,
    private readonly host: StreamHost,
    private sendWindow: number,
    receiveWindowBytes: number,
  ) {
    this.receiveWindow = new ReceiveWindow(receiveWindowBytes, (bytes) => this.allow(bytes));
  }

  private readonly receiveWindow: ReceiveWindow;

  headers(block: Buffer): void {
    if (this.isOver) return;
    this.host.headers(this.id, FLAG.endHeaders, block);
  }

  /** A promise, if the peer is slower: wait for it before writing more. */
  write(parts: readonly Uint8Array[]): Promise<void> | undefined {
    if (this.isOver) return undefined;
    for (const part of parts) if (part.length > 0) this.queue.push(part);
    this.pump();
    if (this.queue.length === 0) return undefined;
    return new Promise((resolve) => (this.wake = resolve));
  }

  /** After all that was written. A peer that is still sending is told to stop. */
  end(trailers: Buffer): void {
    this.trailers = trailers;
    this.pump();
  }

  reset(code: H2ErrorCode): void {
    if (this.isOver) return;
    this.host.writer.resetStream(this.id, code);
    this.cut();
  }

  /** No frame is sent any more. */
  cut(): void {
    if (this.isOver) return;
    this.close();
    this.listener?.cut();
  }

  /** As many bytes were taken by whoever listens: the peer may send as many more. */
  take(bytes: number): void {
    this.receiveWindow.take(bytes);
  }

  /** `length`: with padding, which counts. */
  receive(payload: Buffer, length: number): void {
    if (!this.receiveWindow.receive(length)) return this.reset(H2_ERROR.flowControl);
    if (length > payload.length) this.take(length - payload.length);
    this.listener?.data(payload);
  }

  receiveEnd(): void {
    this.isRemoteEnded = true;
    this.listener?.ended();
  }

  widen(bytes: number): void {
    this.sendWindow += bytes;
    if (this.sendWindow > MAX_WINDOW_BYTES) this.reset(H2_ERROR.flowControl);
    else this.pump();
  }

  /** Sends as much as may be sent now. */
  pump(): void {
    if (this.isOver) return;
    while (this.queue.length > 0) {
      if (this.sendWindow <= 0) return;
      if (this.host.sendWindow <= 0 || !this.host.isOpenForData) return this.host.block(this);
      this.sendFrame(Math.min(MAX_FRAME_BYTES, this.sendWindow, this.host.sendWindow));
    }
    this.wakeWriter();
    if (this.trailers) this.finish(this.trailers);
  }

  private allow(bytes: number): void {
    if (this.isOver || this.isRemoteEnded) return;
    this.host.writer.number(FRAME.windowUpdate, this.id, bytes);
  }

  private sendFrame(most: number): void {
    const { host, queue } = this;
    let length = -this.sent;
    for (const part of queue) {
      length += part.length;
      if (length >= most) break;
    }
    length = Math.min(length, most);
    this.sendWindow -= length;
    host.sendWindow -= length;
    host.writer.header(length, FRAME.data, 0, this.id);
    for (let left = length; left > 0;) {
      const [part] = queue as [Uint8Array];
      const end = Math.min(part.length, this.sent + left);
      host.writer.payload(part, this.sent, end);
      left -= end - this.sent;
      this.sent = end;
      if (end < part.length) continue;
      queue.shift();
      this.sent = 0;
    }
  }

  private finish(trailers: Buffer): void {
    this.host.headers(this.id, FLAG.endHeaders | FLAG.endStream, trailers);
    if (!this.isRemoteEnded) this.host.writer.resetStream(this.id, H2_ERROR.none);
    this.close();
  }

  private close(): void {
    this.isOver = true;
    this.queue = [];
    this.wakeWriter();
    this.host.forget(this);
  }

  private wakeWriter(): void {
    this.wake?.();
    this.wake = undefined;
  }
}
