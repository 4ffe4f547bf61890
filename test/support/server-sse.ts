import { EventEmitter, once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

/** One frame of a stream: the lines up to an empty one. */
export interface Frame {
  readonly id?: string;
  readonly event?: string;
  /** As it was sent. */
  readonly data?: string;
  readonly comment?: string;
  /** Every line, untouched. */
  readonly lines: readonly string[];
}

/** Reads an event stream byte by byte, and keeps everything: what a library would hide is what tests are about. */
export class SseReader {
  /** Everything that has come, as text. */
  raw = '';
  /** Frames not taken yet. */
  readonly frames: Frame[] = [];
  closed = false;
  /** How it was closed: cut off in the middle, or ended in due form. */
  ended = false;
  private rest = '';
  private readonly changes = new EventEmitter();

  private constructor(readonly response: IncomingMessage) {
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => this.take(chunk));
    response.on('end', () => (this.ended = true));
    response.on('error', () => undefined);
    response.on('close', () => {
      this.closed = true;
      this.notify();
    });
  }

  /** Resolves when the headers are in. Rejects unless it is a stream. */
  static async open(port: number, path: string, headers: Record<string, string> = {}): Promise<SseReader> {
    const sent = get({ host: '127.0.0.1', port, path, headers: { accept: 'text/event-stream', ...headers } });
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    sent.on('error', () => undefined);
    if (response.headers['content-type']?.startsWith('text/event-stream')) return new SseReader(response);
    sent.destroy();
    throw new Error(`Not a stream, but ${response.statusCode}`);
  }

  /** The next frame, whatever it is. */
  async next(): Promise<Frame> {
    await this.until(() => this.frames.length > 0 || this.closed);
    const frame = this.frames.shift();
    if (!frame) throw new Error('The stream was closed before another frame came');
    return frame;
  }

  /** The next event; comments are passed over. */
  async nextEvent(): Promise<Frame & { readonly json: Record<string, unknown> }> {
    for (;;) {
      const frame = await this.next();
      if (frame.data !== undefined) return { ...frame, json: JSON.parse(frame.data) };
    }
  }

  async untilClosed(): Promise<void> {
    await this.until(() => this.closed);
  }

  close(): void {
    this.response.destroy();
  }

  private async until(condition: () => boolean): Promise<void> {
    while (!condition()) await once(this.changes, 'change');
  }

  private take(chunk: string): void {
    this.raw += chunk;
    const frames = (this.rest + chunk).split('\n\n');
    this.rest = frames.pop() ?? '';
    for (const text of frames) this.frames.push(parseFrame(text));
    this.notify();
  }

  private notify(): void {
    this.changes.emit('change');
  }
}

function parseFrame(text: string): Frame {
  const lines = text.split('\n');
  const field = (name: string) => {
    const line = lines.find((candidate) => candidate.startsWith(`${name}: `));
    return line === undefined ? undefined : line.slice(name.length + 2);
  };
  const fields = { id: field('id'), event: field('event'), data: field('data'), comment: field('') };
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), lines };
}
