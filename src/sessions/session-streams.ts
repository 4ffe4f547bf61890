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
    stream.send(snapshotFrame(this.snapshot(sessionId, session.nodeId)));
  }

  private snapshot(sessionId: string, nodeId: string) {
    const rows = this.keys.keysOf(sessionId).map((key) => this.row(key, nodeId, sessionId));
    return {
      session_id: sessionId,
      claim_timeout_ms: this.options.policy.claimTimeoutMs,
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

/** What the session cannot know from its own answers, and must know to go on. */
function isNews({ name, sessionId }: LockEvent, ownId: string): boolean {
  if (name === 'queued' || name === 'granted') return false;
  if (name === 'assigned') return sessionId === ownId;
  return name !== 'completed' || sessionId !== ownId;
}
