import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** Longer than anything here may take, on however busy a machine. */
const HANG_MS = 20_000;

/**
 * A kept-alive connection for requests as bytes, one at a time; opened again when the server closed it. An event
 * stream counts as answered by its head, and is closed.
 */
export class BadInputConnection {
  private socket: Socket | undefined;
  private received = Buffer.alloc(0);
  private wake: () => void = () => {};

  constructor(private readonly port: number) {}

  /** Rejects when there is no whole answer in time, or the connection is closed before one. */
  async exchange(request: Buffer): Promise<RawAnswer> {
    const socket = await this.open();
    const hang = setTimeout(() => socket.destroy(new Error('no answer: the server hangs')), HANG_MS);
    try {
      socket.write(request);
      const bodyless = request.subarray(0, 5).toString('latin1') === 'HEAD ';
      for (;;) {
        const answer = this.takeAnswer(bodyless);
        if (answer) return answer;
        if (socket.destroyed) throw new Error(`closed without an answer: ${socket.errored?.message ?? ''}`);
        await new Promise<void>((resolve) => (this.wake = resolve));
      }
    } finally {
      clearTimeout(hang);
    }
  }

  close(): void {
    this.socket?.destroy();
  }

  private async open(): Promise<Socket> {
    if (this.socket && !this.socket.destroyed && this.socket.readable && this.socket.writable)
      return this.socket;
    this.received = Buffer.alloc(0);
    const socket = connect(this.port, '127.0.0.1').setNoDelay(true);
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.on('data', (chunk) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.wake();
    });
    socket.on('close', () => this.wake());
    this.socket = socket;
    return socket;
  }

  private takeAnswer(bodyless: boolean): RawAnswer | undefined {
    const headEnd = this.received.indexOf('\r\n\r\n');
    if (headEnd < 0) return undefined;
    const head = this.received.subarray(0, headEnd).toString('latin1');
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
    const type = header(head, 'content-type');
    if (type.startsWith('text/event-stream')) {
      this.close();
      return { status, type, text: '' };
    }
    const start = headEnd + 4;
    const end = bodyless ? start : this.bodyEnd(head, start);
    if (end === undefined || this.received.length < end) return undefined;
    const text = this.received.subarray(start, end).toString('utf8');
    this.received = this.received.subarray(end);
    if (header(head, 'connection').toLowerCase() === 'close') this.close();
    return { status, type, text };
  }

  private bodyEnd(head: string, start: number): number | undefined {
    if (header(head, 'transfer-encoding') !== 'chunked') {
      return start + Number(header(head, 'content-length') || 0);
    }
    const last = this.received.indexOf('\r\n0\r\n\r\n', start);
    return last < 0 ? undefined : last + 7;
  }
}

function header(head: string, name: string): string {
  return new RegExp(`^${name}: *(.*?)\\r?$`, 'im').exec(head)?.[1] ?? '';
}
