import { Inject, Injectable } from '@nestjs/common';
import { type ServerResponse } from 'node:http';
import { type CancelTimer, CLOCK, type Clock } from '../common/clock.interface.js';
import { findWaiter, keyOf } from '../core/state.js';
import { positionOf } from '../core/queue.js';
import { LockManager } from '../locking/lock-manager.js';
import { ticketOf } from '../locking/wire/answers.js';
import { type KeyName } from '../locking/wire/key-name.js';
import { observerData } from '../subscriptions/everything.service.js';
import { eventId } from '../subscriptions/key-events.js';
import { OpenStreams } from '../subscriptions/open-streams.js';
import { commentFrame, eventFrame } from '../subscriptions/sse-stream.js';
import { SessionKeys } from './session-keys.js';
import { SessionsService } from './sessions.service.js';
import { SESSION_OPTIONS, type SessionOptions } from './sessions.module-definition.js';

/** One stream for everything a process waits for. Opens with a snapshot: what is not in it is over, ask again. */
@Injectable()
export class SessionStreams {
  constructor(
    private readonly sessions: SessionsService,
    private readonly keys: SessionKeys,
    private readonly manager: LockManager,
    private readonly streams: OpenStreams,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SESSION_OPTIONS) private readonly options: SessionOptions,
  ) {}

  open(sessionId: string, response: ServerResponse): void {
    const nodeId = this.sessions.nodeOf(sessionId);
    const stream = this.streams.open(response);
    const stopListening = this.keys.listen(sessionId, ({ resourceId }, event) =>
      stream.send(eventFrame(eventId(event), event.name, observerData(resourceId, event))),
    );
    let timer: CancelTimer | undefined;
    const beat = () => {
      stream.send(commentFrame('heartbeat'));
      timer = this.clock.after(this.options.heartbeatMs, beat);
    };
    timer = this.clock.after(this.options.heartbeatMs, beat);
    const forgetEnd = this.sessions.onEnd(sessionId, () => stream.destroy());
    stream.onClose(() => {
      stopListening();
      forgetEnd();
      timer?.();
    });
    stream.send(`event: snapshot\ndata: ${JSON.stringify(this.snapshot(sessionId, nodeId))}\n\n`);
  }

  private snapshot(sessionId: string, nodeId: string) {
    const rows = this.keys.keysOf(sessionId).map((key) => this.row(key, nodeId, sessionId));
    return {
      session_id: sessionId,
      holds: rows.filter((row) => 'token' in row),
      waits: rows.filter((row) => 'position' in row),
    };
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
