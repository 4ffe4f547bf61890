import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { headerBlock } from '../../../src/containerd/http2/hpack/header-block.js';
import { type HeaderList, HeaderDecoder } from '../../../src/containerd/http2/hpack/header-decoder.js';
import { settingsPayload } from '../../../src/containerd/http2/payloads.js';
import { FLAG, FRAME, PREFACE } from '../../../src/containerd/http2/protocol.js';

export interface RawFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

type Test = (frame: RawFrame) => boolean;

/** A client of HTTP/2 that sends what it is told to, right or wrong, and keeps what comes back. */
export class RawHttp2 {
  readonly frames: RawFrame[] = [];
  isClosed = false;
  private rest = Buffer.alloc(0);
  private wake: () => void = () => undefined;
  private readonly decoder = new HeaderDecoder();
  private readonly decoded = new Map<RawFrame, HeaderList['fields']>();

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.isClosed = true;
      this.wake();
    });
  }

  /** Connected, with nothing said. */
  static async connect(path: string): Promise<RawHttp2> {
    const socket = connect(path);
    await once(socket, 'connect');
    return new RawHttp2(socket);
  }

  /** Greeted, with these settings. */
  static async open(path: string, ...settings: [id: number, value: number][]): Promise<RawHttp2> {
    const client = await RawHttp2.connect(path);
    client.socket.write(PREFACE);
    client.send(FRAME.settings, 0, 0, settingsPayload(settings));
    return client;
  }

  send(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): void {
    this.socket.write(RawHttp2.frame(type, flags, streamId, payload));
  }

  static frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
    const header = Buffer.alloc(9);
    header.writeUIntBE(payload.length, 0, 3);
    header[3] = type;
    header[4] = flags;
    header.writeUInt32BE(streamId, 5);
    return Buffer.concat([header, payload]);
  }

  /** A frame of one number. */
  number(type: number, streamId: number, value: number): void {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(value);
    this.send(type, 0, streamId, payload);
  }

  /** The headers of a call. */
  call(streamId: number, path: string, extra: readonly (readonly [string, string])[] = []): void {
    this.send(FRAME.headers, FLAG.endHeaders, streamId, RawHttp2.callHeaders(path, extra));
  }

  static callHeaders(path: string, extra: readonly (readonly [string, string])[] = []): Buffer {
    return headerBlock([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', path],
      ['content-type', 'application/grpc'],
      ...extra,
    ]);
  }

  /** A call with one message, and nothing after it. */
  ask(streamId: number, path: string, message: string): void {
    this.call(streamId, path);
    this.send(FRAME.data, FLAG.endStream, streamId, RawHttp2.message(message));
  }

  static message(text: string): Buffer {
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(Buffer.byteLength(text), 1);
    return Buffer.concat([prefix, Buffer.from(text)]);
  }

  /** The first frame that has come, or comes, of which this is true. */
  async until(test: Test): Promise<RawFrame> {
    for (;;) {
      const found = this.frames.find(test);
      if (found) return found;
      if (this.isClosed) throw new Error('The connection was closed.');
      await this.more();
    }
  }

  async untilClosed(): Promise<void> {
    while (!this.isClosed) await this.more();
  }

  /** The number in the last GOAWAY, once the connection is closed. */
  async goAway(): Promise<number> {
    await this.untilClosed();
    return this.frames.find(({ type }) => type === FRAME.goAway)!.payload.readUInt32BE(4);
  }

  /** The code that the stream was reset with. */
  async reset(streamId: number): Promise<number> {
    const frame = await this.until((one) => one.type === FRAME.resetStream && one.streamId === streamId);
    return frame.payload.readUInt32BE();
  }

  /** How the call ended. */
  async status(streamId: number): Promise<number> {
    return Number((await this.trailers(streamId)).get('grpc-status'));
  }

  async trailers(streamId: number): Promise<HeaderList['fields']> {
    const isEnd: Test = ({ type, flags, streamId: id }) =>
      id === streamId && type === FRAME.headers && (flags & FLAG.endStream) !== 0;
    return this.decoded.get(await this.until(isEnd))!;
  }

  /** What has come of the answer's body. */
  body(streamId: number): Buffer {
    const isData: Test = ({ type, streamId: id }) => type === FRAME.data && id === streamId;
    return Buffer.concat(this.frames.filter(isData).map(({ payload }) => payload));
  }

  /** All that was sent before has been answered, as far as it is answered at once. */
  async settled(): Promise<void> {
    const mark = Buffer.from(`mark${String(this.frames.length).padStart(4, '0')}`);
    this.send(FRAME.ping, 0, 0, mark);
    await this.until(({ type, payload }) => type === FRAME.ping && payload.equals(mark));
  }

  private more(): Promise<void> {
    return new Promise((resolve) => (this.wake = resolve));
  }

  private read(chunk: Buffer): void {
    this.rest = Buffer.concat([this.rest, chunk]);
    while (this.rest.length >= 9) {
      const end = 9 + this.rest.readUIntBE(0, 3);
      if (this.rest.length < end) break;
      const [type, flags] = [this.rest[3]!, this.rest[4]!];
      const frame = { type, flags, streamId: this.rest.readUInt32BE(5), payload: this.rest.subarray(9, end) };
      if (type === FRAME.headers) this.decoded.set(frame, this.decoder.decode(frame.payload).fields);
      this.frames.push(frame);
      this.rest = this.rest.subarray(end);
    }
    this.wake();
  }
}
