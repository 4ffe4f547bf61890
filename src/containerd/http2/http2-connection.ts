import { type Socket } from 'node:net';
import { FrameReader, type FrameSink } from './frame-reader.js';
import { FrameWriter } from './frame-writer.js';
import { HeaderBlocks, type CompleteBlock } from './header-blocks.js';
import { NO_TABLE } from './hpack/header-block.js';
import { HeaderDecoder, type HeaderList, MAX_TABLE_BYTES } from './hpack/header-decoder.js';
import { Http2Stream, type StreamHost } from './http2-stream.js';
import { assertLength, settingsPayload, unpadded, windowIncrement } from './payloads.js';
import {
  ConnectionError,
  DEFAULT_WINDOW_BYTES,
  FLAG,
  FRAME,
  H2_ERROR,
  type H2ErrorCode,
  MAX_WINDOW_BYTES,
  protocolError,
  SETTING,
} from './protocol.js';
import { ReceiveWindow } from './receive-window.js';

/** What a client may send on one stream before it is taken: four of the largest pieces that containerd writes. */
const STREAM_WINDOW_BYTES = 4 << 20;

/** Given back as data comes: none waits for another. What is kept in memory is limited by streams, and over all by whoever listens. */
const CONNECTION_WINDOW_BYTES = 16 << 20;

/** Writes that wait for a lock keep their stream: no pull may wait for a free one. */
const MAX_STREAMS = 10_000;

const MAX_HEADER_LIST_BYTES = 16 * 1024;

/** No more data is given to a peer that has not taken as much. */
const MAX_WAITING_BYTES = 256 * 1024;

/** Nothing is read from a peer that asks and does not take the answers. */
const MAX_UNREAD_BYTES = 1 << 20;

const HELLO = settingsPayload([
  [SETTING.maxConcurrentStreams, MAX_STREAMS],
  [SETTING.initialWindowSize, STREAM_WINDOW_BYTES],
  [SETTING.maxHeaderListSize, MAX_HEADER_LIST_BYTES],
]);

const EMPTY = Buffer.alloc(0);

export interface ConnectionListener {
  /** A request has come: listen to its stream. */
  opened(stream: Http2Stream, headers: HeaderList['fields']): void;
}

/**
 * The server's end of an HTTP/2 connection (RFC 9113) without what gRPC has no use for: pushes and priorities are not
 * answered, frames have the default size. A peer that breaks the protocol gets a GOAWAY and is cut.
 */
export class Http2Connection implements FrameSink, StreamHost {
  readonly writer: FrameWriter;
  sendWindow = DEFAULT_WINDOW_BYTES;
  private readonly receiveWindow = new ReceiveWindow(CONNECTION_WINDOW_BYTES, (bytes) => this.allow(bytes));
  /** Of streams to come: what the peer takes on each. */
  private initialSendWindow = DEFAULT_WINDOW_BYTES;
  private lastStreamId = 0;
  private isGreeted = false;
  private isClosed = false;
  /** The peer has made its table smaller, and must be told that this was seen before the next block: RFC 7541, 4.2. */
  private isTableToShrink = false;
  private readonly streams = new Map<number, Http2Stream>();
  private readonly blocked = new Set<Http2Stream>();
  private readonly headerBlocks = new HeaderBlocks();
  private readonly headerDecoder = new HeaderDecoder();

  constructor(
    private readonly socket: Socket,
    private readonly listener: ConnectionListener,
  ) {
    this.writer = new FrameWriter(socket);
    const reader = new FrameReader(this);
    this.writer.frame(FRAME.settings, 0, 0, HELLO);
    this.allow(CONNECTION_WINDOW_BYTES - DEFAULT_WINDOW_BYTES);
    socket.on('data', (chunk: Buffer) => this.read(reader, chunk));
    socket.on('drain', () => this.drained());
    socket.on('error', () => undefined); // `close` follows
    socket.on('close', () => this.cutAll());
  }

  get isOpenForData(): boolean {
    return this.writer.waiting < MAX_WAITING_BYTES;
  }

  /** What is under way is cut. */
  close(code: H2ErrorCode = H2_ERROR.none, why = ''): void {
    if (this.isClosed) return;
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(this.lastStreamId);
    payload.writeUInt32BE(code, 4);
    this.writer.frame(FRAME.goAway, 0, 0, Buffer.concat([payload, Buffer.from(why)]));
    this.writer.flush();
    this.cutAll();
    this.socket.destroySoon();
  }

  headers(streamId: number, flags: number, block: Buffer): void {
    const whole = this.isTableToShrink ? Buffer.concat([NO_TABLE, block]) : block;
    this.isTableToShrink = false;
    this.writer.frame(FRAME.headers, flags, streamId, whole);
  }

  block(stream: Http2Stream): void {
    this.blocked.add(stream);
  }

  forget(stream: Http2Stream): void {
    this.streams.delete(stream.id);
    this.blocked.delete(stream);
  }

  frame(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (this.isClosed) return;
    if (!this.isGreeted && type !== FRAME.settings) throw protocolError('The first frame must be SETTINGS.');
    this.headerBlocks.check(type, streamId);
    switch (type) {
      case FRAME.data:
        return this.onData(flags, streamId, payload);
      case FRAME.headers:
      case FRAME.continuation:
        return this.onHeaders(type, flags, streamId, payload);
      case FRAME.resetStream:
        return this.onReset(streamId, payload);
      case FRAME.settings:
        return this.onSettings(flags, streamId, payload);
      case FRAME.pushPromise:
        throw protocolError('A client must not push.');
      case FRAME.ping:
        return this.onPing(flags, streamId, payload);
      case FRAME.windowUpdate:
        return this.onWindowUpdate(streamId, payload);
      default: // PRIORITY, GOAWAY and what others may add need no answer
    }
  }

  private read(reader: FrameReader, chunk: Buffer): void {
    if (this.isClosed) return;
    try {
      reader.push(chunk);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      return this.close(error.code, error.message);
    }
    if (this.writer.waiting > MAX_UNREAD_BYTES) this.socket.pause();
  }

  private drained(): void {
    this.socket.resume();
    this.pumpBlocked();
  }

  /** In turns: who was served stands at the end of the line. */
  private pumpBlocked(): void {
    for (const stream of [...this.blocked]) {
      if (this.sendWindow <= 0 || !this.isOpenForData) return;
      this.blocked.delete(stream);
      stream.pump();
    }
  }

  private allow(bytes: number): void {
    this.writer.number(FRAME.windowUpdate, 0, bytes);
  }

  private cutAll(): void {
    this.isClosed = true;
    for (const stream of [...this.streams.values()]) stream.cut();
  }

  private onData(flags: number, streamId: number, payload: Buffer): void {
    const stream = this.streamOf(streamId);
    this.receiveWindow.receive(payload.length); // cannot be exceeded: all is taken at once
    this.receiveWindow.take(payload.length);
    if (!stream) return;
    if (stream.isRemoteEnded) return stream.reset(H2_ERROR.streamClosed);
    stream.receive(unpadded(flags & FLAG.padded, payload), payload.length);
    if (flags & FLAG.endStream) stream.receiveEnd();
  }

  private onHeaders(type: number, flags: number, streamId: number, payload: Buffer): void {
    const fragment = type === FRAME.headers ? unpadded(flags, payload) : payload;
    const complete = this.headerBlocks.add(type, flags, streamId, fragment);
    if (complete) this.onHeaderBlock(complete);
  }

  private onHeaderBlock({ streamId, isEndOfStream, block }: CompleteBlock): void {
    const { fields, bytes } = this.headerDecoder.decode(block);
    if (streamId <= this.lastStreamId) return this.onTrailers(streamId, isEndOfStream);
    if (streamId % 2 === 0) throw protocolError('A client must not open a stream with an even number.');
    this.lastStreamId = streamId;
    if (this.streams.size >= MAX_STREAMS) return this.writer.resetStream(streamId, H2_ERROR.refusedStream);
    if (bytes > MAX_HEADER_LIST_BYTES) return this.writer.resetStream(streamId, H2_ERROR.enhanceYourCalm);
    const stream = new Http2Stream(streamId, this, this.initialSendWindow, STREAM_WINDOW_BYTES);
    this.streams.set(streamId, stream);
    this.listener.opened(stream, fields);
    if (isEndOfStream) stream.receiveEnd();
  }

  private onTrailers(streamId: number, isEndOfStream: boolean): void {
    const stream = this.streamOf(streamId);
    if (!stream) return;
    if (stream.isRemoteEnded) stream.reset(H2_ERROR.streamClosed);
    else if (isEndOfStream) stream.receiveEnd();
    else stream.reset(H2_ERROR.protocol);
  }

  private onReset(streamId: number, payload: Buffer): void {
    assertLength(payload, 4, 'RST_STREAM');
    this.streamOf(streamId)?.cut();
  }

  private onSettings(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw protocolError('SETTINGS are of the connection.');
    if (flags & FLAG.ack) return assertLength(payload, 0, 'the answer to SETTINGS');
    if (payload.length % 6 !== 0) throw new ConnectionError(H2_ERROR.frameSize, 'SETTINGS are cut off.');
    this.isGreeted = true;
    for (let at = 0; at < payload.length; at += 6) {
      const [setting, value] = [payload.readUInt16BE(at), payload.readUInt32BE(at + 2)];
      if (setting === SETTING.initialWindowSize) this.resizeWindows(value);
      if (setting === SETTING.headerTableSize) this.isTableToShrink ||= value < MAX_TABLE_BYTES;
    }
    this.writer.frame(FRAME.settings, FLAG.ack, 0, EMPTY);
  }

  private resizeWindows(size: number): void {
    if (size > MAX_WINDOW_BYTES)
      throw new ConnectionError(H2_ERROR.flowControl, `A window of ${size} bytes.`);
    const change = size - this.initialSendWindow;
    this.initialSendWindow = size;
    for (const stream of [...this.streams.values()]) stream.widen(change);
  }

  /** At once: grpc-go learns from it how much to let us send. */
  private onPing(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw protocolError('PING is of the connection.');
    assertLength(payload, 8, 'PING');
    if ((flags & FLAG.ack) === 0) this.writer.frame(FRAME.ping, FLAG.ack, 0, payload);
  }

  private onWindowUpdate(streamId: number, payload: Buffer): void {
    assertLength(payload, 4, 'WINDOW_UPDATE');
    const increment = windowIncrement(payload);
    if (streamId !== 0) {
      const stream = this.streamOf(streamId);
      if (increment === 0) stream?.reset(H2_ERROR.protocol);
      else stream?.widen(increment);
      return;
    }
    if (increment === 0) throw protocolError('WINDOW_UPDATE by nothing.');
    this.sendWindow += increment;
    if (this.sendWindow > MAX_WINDOW_BYTES)
      throw new ConnectionError(H2_ERROR.flowControl, 'The window of the connection is too large.');
    this.pumpBlocked();
  }

  /** `undefined`: it is over. */
  private streamOf(streamId: number): Http2Stream | undefined {
    if (streamId === 0 || streamId > this.lastStreamId)
      throw protocolError(`Stream ${streamId} was never opened.`);
    return this.streams.get(streamId);
  }
}
