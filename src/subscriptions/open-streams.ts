import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { type ServerResponse } from 'node:http';
import { SseStream } from './sse-stream.js';

/** Every event stream that is open, so that they can be counted, and destroyed when the server goes. */
@Injectable()
export class OpenStreams implements BeforeApplicationShutdown {
  private readonly streams = new Set<SseStream>();
  private stopping = false;

  get size(): number {
    return this.streams.size;
  }

  open(response: ServerResponse): SseStream {
    const stream = new SseStream(response);
    this.streams.add(stream);
    stream.onClose(() => this.streams.delete(stream));
    if (this.stopping) stream.destroy();
    return stream;
  }

  beforeApplicationShutdown(): void {
    this.stopping = true;
    for (const stream of this.streams) stream.destroy();
  }
}
