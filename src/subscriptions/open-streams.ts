import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { type ServerResponse } from 'node:http';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { commentFrame } from './frame.js';
import { Rounds } from './rounds.js';
import { SseStream } from './sse-stream.js';
import { SUBSCRIPTION_OPTIONS, type SubscriptionOptions } from './subscriptions.module-definition.js';

const HEARTBEAT = commentFrame('heartbeat');

/** Every event stream that is open, so that they can be counted, kept alive, and destroyed when the server goes. */
@Injectable()
export class OpenStreams implements BeforeApplicationShutdown {
  private readonly streams = new Set<SseStream>();
  private readonly heartbeats: Rounds<SseStream>;
  private stopping = false;
  /** How often a stream with heartbeats says something. */
  readonly heartbeatMs: number;

  constructor(
    @Inject(CLOCK) clock: Clock,
    @Inject(SUBSCRIPTION_OPTIONS) { heartbeatMs }: SubscriptionOptions,
  ) {
    this.heartbeatMs = heartbeatMs;
    this.heartbeats = new Rounds(clock, heartbeatMs, (stream) => stream.send(HEARTBEAT));
  }

  get size(): number {
    return this.streams.size;
  }

  /** With heartbeats, unless its reader might take them for something else. */
  open(response: ServerResponse, { heartbeats = true } = {}): SseStream {
    const stream = new SseStream(response);
    this.streams.add(stream);
    if (heartbeats) this.heartbeats.add(stream);
    stream.onClose(() => {
      this.streams.delete(stream);
      this.heartbeats.delete(stream);
    });
    if (this.stopping) stream.destroy();
    return stream;
  }

  beforeApplicationShutdown(): void {
    this.stopping = true;
    for (const stream of this.streams) stream.destroy();
  }
}
