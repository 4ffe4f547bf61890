import { type ServerResponse } from 'node:http';
import { type Frame } from './frame.js';

/** A reader this far behind is cut off, so that it cannot take the memory of the others. */
const MAX_PENDING_BYTES = 4 * 1024 * 1024;

/** Finds half-open connections without writing a line that an old client would take for an event. */
const TCP_KEEP_ALIVE_MS = 15_000;

/**
 * One server-sent event stream. Headers go out at once. It is never ended, only destroyed: an end would look to a
 * client like the last word, where a broken connection makes it come back. To HEAD the headers are all there is to say, and
 * the next request on its connection must not wait for more.
 */
export class SseStream {
  constructor(private readonly response: ServerResponse) {
    response.socket?.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
    response.socket?.setNoDelay(true);
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      connection: 'keep-alive',
      'x-accel-buffering': 'no',
    });
    response.flushHeaders();
    if (response.req.method === 'HEAD') response.end();
  }

  /** Calls back also when it was closed before anybody listened. */
  onClose(callback: () => void): void {
    if (this.response.destroyed) queueMicrotask(callback);
    else this.response.once('close', callback);
  }

  get isOpen(): boolean {
    return !this.response.destroyed && !this.response.writableEnded;
  }

  /**
   * The bytes go to the socket as they are: `response.write` would make three writes of a frame, for each stream anew. An
   * HTTP/1.0 client has no chunks, and a response behind another one on its connection no socket yet.
   */
  send({ chunk, payload }: Frame): void {
    if (!this.isOpen) return;
    const { socket, chunkedEncoding } = this.response;
    if (socket && chunkedEncoding) socket.write(chunk);
    else this.response.write(payload);
    if (this.response.writableLength > MAX_PENDING_BYTES) this.destroy();
  }

  /** Resolves when there is room to write more, or nobody to write to. */
  async drained(): Promise<void> {
    const { response } = this;
    const writer = response.chunkedEncoding ? (response.socket ?? response) : response;
    if (!this.isOpen || !writer.writableNeedDrain) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        writer.off('drain', done);
        response.off('close', done);
        resolve();
      };
      writer.once('drain', done);
      response.once('close', done);
    });
  }

  destroy(): void {
    this.response.destroy();
  }
}
