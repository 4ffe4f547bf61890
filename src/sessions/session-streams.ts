import { Inject, Injectable } from '@nestjs/common';
import { type ServerResponse } from 'node:http';
import { type LockEvent } from '../core/events.js';
import { findWaiter, keyOf } from '../core/state.js';
import { positionOf } from '../core/queue.js';
import { LockManager } from '../locking/lock-manager.js';
import { ticketOf } from '../locking/wire/answers.js';
import { type KeyName } from '../locking/wire/key-name.js';
import { snapshotFrame } from '../subscriptions/frame.js';
import { observerFrame } from '../subscriptions/key-events.js';
import { OpenStreams } from '../subscriptions/open-streams.js';
import { type SseStream } from '../subscriptions/sse-stream.js';
import { SessionKeys } from './session-keys.js';
import { SessionsService } from './sessions.service.js';
import { SESSION_OPTIONS, type SessionOptions } from './sessions.module-definition.js';

/** Keys after which a `snapshot` event is sent: with the longest names some quarter of what a slow reader is cut off for. */
const KEYS_PER_FRAME = 500;

/**
 * One stream for everything a process waits for. Opens with a snapshot, in `snapshot` events of which the last has `more: false`: what
 * is in none of them is over, ask again. What happens meanwhile comes in between.
 */
@Injectable()
export class SessionStreams {
  constructor(
    private readonly sessions: SessionsService,
    private readonly keys: SessionKeys,
    private readonly manager: LockManager,
    private readonly streams: OpenStreams,
    @Inject(SESSION_OPTIONS) private readonly options: SessionOptions,
  ) {}

  async open(sessionId: string, response: ServerResponse, brief: boolean): Promise<void> {
    const session = await this.sessions.attach(sessionId);
    const stream = this.streams.open(response);
    const stopListening = this.keys.listen(sessionId, {
      happened: ({ resourceId }, event) => {
        if (!brief || isNews(event, sessionId)) stream.send(observerFrame(resourceId, event));
      },
      missed: () => stream.destroy(),
    });
    const forgetEnd = this.sessions.onEnd(session, () => stream.destroy());
    stream.onClose(() => {
      stopListening();
      forgetEnd();
    });
    await this.tellSnapshot(stream, sessionId, session.nodeId);
  }

  /** The next frame is made when the reader has taken the last. */
  private async tellSnapshot(stream: SseStream, sessionId: string, nodeId: string): Promise<void> {
    const keys = this.keys.keysOf(sessionId);
    for (let from = 0, more = true; more && stream.isOpen; from += KEYS_PER_FRAME) {
      more = from + KEYS_PER_FRAME < keys.length;
      const rows = keys.slice(from, from + KEYS_PER_FRAME).map((key) => this.row(key, nodeId, sessionId));
      const frame = snapshotFrame({
        session_id: sessionId,
        claim_timeout_ms: this.options.policy.claimTimeoutMs,
        heartbeat_ms: this.streams.heartbeatMs,
        holds: rows.filter((row) => 'token' in row),
        waits: rows.filter((row) => 'position' in row),
        more,
      });
      stream.send(frame);
      if (more) await stream.drained();
    }
  }

  private row(key: KeyName, nodeId: string, sessionId: string) {
    const { type, resourceId } = key;
    const name = { type, resource_id: resourceId };
    const state = this.manager.peek(resourceId);
    const current = state && keyOf(state, type);
    if (current?.hold?.sessionId === sessionId) return { ...name, token: current.hold.token };
    const asker = { nodeId, sessionId };
    const waiter = current && findWaiter(current, asker);
    if (!waiter) return name;
    const position = positionOf(current, asker, this.options.policy);
    return { ...name, position, ticket: ticketOf(waiter.ticket, key, nodeId) };
  }
}

/** What the session cannot know from its own answers, and must know to go on. */
function isNews({ name, sessionId }: LockEvent, ownId: string): boolean {
  if (name === 'queued' || name === 'granted') return false;
  if (name === 'assigned') return sessionId === ownId;
  return name !== 'completed' || sessionId !== ownId;
}
