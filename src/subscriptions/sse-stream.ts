import { type ServerResponse } from 'node:http';

/** A reader this far behind is cut off, so that it cannot take the memory of the others. */
const MAX_PENDING_BYTES = 4 * 1024 * 1024;

/** Finds half-open connections without writing a line that an old client would take for an event. */
const TCP_KEEP_ALIVE_MS = 15_000;

/**
 * One server-sent event stream. Headers go out at once. It is never ended, only destroyed: an end would look to a
 * client like the last word, where a broken connection makes it come back.
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
  }

  /** Calls back also when it was closed before anybody listened. */
  onClose(callback: () => void): void {
    if (this.response.closed) queueMicrotask(callback);
    else this.response.once('close', callback);
  }

  get isOpen(): boolean {
    return !this.response.destroyed && !this.response.writableEnded;
  }

  /** A whole frame, as `eventFrame` or `commentFrame` make it. */
  send(frame: string): void {
    if (!this.isOpen) return;
    this.response.write(frame);
    if (this.response.writableLength > MAX_PENDING_BYTES) this.destroy();
  }

  /** Resolves when there is room to write more, or nobody to write to. */
  async drained(): Promise<void> {
    const { response } = this;
    if (!this.isOpen || !response.writableNeedDrain) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        response.off('drain', done).off('close', done);
        resolve();
      };
      response.once('drain', done).once('close', done);
    });
  }

  destroy(): void {
    this.response.destroy();
  }
}

export function eventFrame(id: string, name: string, data: object): string {
  return `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

export function commentFrame(text: string): string {
  return `: ${text}\n\n`;
}
