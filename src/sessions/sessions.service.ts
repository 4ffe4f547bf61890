import { type BeforeApplicationShutdown, Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { Deadlines, type Due } from '../locking/deadlines.js';
import { type LockEvent } from '../core/events.js';
import { LockManager } from '../locking/lock-manager.js';
import { type SessionDirectory } from '../locking/session-directory.interface.js';
import { refusal } from '../locking/wire/refusals.js';
import { EventBus } from '../subscriptions/event-bus.js';
import { SessionKeys } from './session-keys.js';
import { SessionRecords } from './session-records.js';
import { SESSION_OPTIONS, type SessionOptions } from './sessions.module-definition.js';

interface Session extends Due {
  readonly id: string;
  readonly nodeId: string;
  readonly ttlMs: number;
  /** Made of a hold or wait whose session has no record: it only waits for its end. */
  readonly orphan: boolean;
  ending: boolean;
  readonly onEnd: Set<() => void>;
}

/** After a failed ending (the store is away) it is tried again. */
const RETRY_MS = 1000;

/**
 * Liveness of node processes, apart from what they hold. A session that is ended, or is not renewed within its TTL of watched
 * time, fails every hold and withdraws every wait of its process. After a restart each has its full TTL again.
 */
@Injectable()
export class SessionsService implements SessionDirectory, OnModuleInit, BeforeApplicationShutdown {
  private readonly sessions = new Map<string, Session>();
  private readonly deadlines: Deadlines<Session>;

  constructor(
    private readonly records: SessionRecords,
    private readonly keys: SessionKeys,
    private readonly manager: LockManager,
    bus: EventBus,
    @Inject(CLOCK) clock: Clock,
    @Inject(SESSION_OPTIONS) private readonly options: SessionOptions,
  ) {
    this.deadlines = new Deadlines(clock, (session) => void this.expire(session));
    bus.events$.subscribe(({ resourceId, events }) => {
      for (const event of events)
        if (event.sessionId !== undefined) this.checkLate(resourceId, event, event.sessionId);
    });
  }

  async onModuleInit(): Promise<void> {
    for (const { id, nodeId, ttlMs } of await this.records.all()) this.open(id, nodeId, ttlMs, false);
    for (const { sessionId, nodeId } of this.keys.sessions()) {
      if (!this.sessions.has(sessionId)) this.open(sessionId, nodeId, this.options.sessionTtlMs, true);
    }
  }

  beforeApplicationShutdown(): void {
    this.deadlines.stop();
  }

  get size(): number {
    return this.sessions.size;
  }

  isOpen(sessionId: string, nodeId: string): boolean {
    const session = this.sessions.get(sessionId);
    return session !== undefined && session.nodeId === nodeId && !session.ending && !session.orphan;
  }

  async create(nodeId: string, ttlMs = this.options.sessionTtlMs) {
    const id = randomBytes(16).toString('base64url');
    await this.records.create(id, nodeId, ttlMs);
    this.open(id, nodeId, ttlMs, false);
    return { session_id: id, node_id: nodeId, ttl_ms: ttlMs };
  }

  renew(id: string) {
    const session = this.openSession(id);
    this.deadlines.schedule(session, this.deadlines.now() + session.ttlMs);
    return { renewed: true, session_id: id, ttl_ms: session.ttlMs };
  }

  /** Ending a session that is not there is no error: the first answer may have been lost. */
  async end(id: string) {
    const session = this.sessions.get(id);
    if (session) await this.finish(session, 'the session was ended');
    return { ended: true, session_id: id };
  }

  nodeOf(id: string): string {
    return this.openSession(id).nodeId;
  }

  /** Calls back when the session has ended; the answer stops that. */
  onEnd(id: string, callback: () => void): () => void {
    const { onEnd } = this.openSession(id);
    onEnd.add(callback);
    return () => void onEnd.delete(callback);
  }

  private openSession(id: string): Session {
    const session = this.sessions.get(id);
    if (session && !session.ending && !session.orphan) return session;
    throw refusal({
      kind: 'refused',
      code: 'SESSION_NOT_FOUND',
      error: 'the session is unknown or has ended',
    });
  }

  private open(id: string, nodeId: string, ttlMs: number, orphan: boolean): void {
    const session: Session = {
      id,
      nodeId,
      ttlMs,
      orphan,
      ending: false,
      onEnd: new Set(),
      dueAtMs: Infinity,
      dueIndex: -1,
    };
    this.sessions.set(id, session);
    this.deadlines.schedule(session, this.deadlines.now() + ttlMs);
  }

  private async expire(session: Session): Promise<void> {
    try {
      await this.finish(session, 'the session was not renewed in time');
    } catch {
      this.deadlines.schedule(session, this.deadlines.now() + RETRY_MS);
    }
  }

  /** The record goes last: after a crash in between, the session is found again and ended again. */
  private async finish(session: Session, error: string): Promise<void> {
    session.ending = true;
    const { id: sessionId, nodeId } = session;
    const ends = this.keys
      .keysOf(sessionId)
      .map(({ resourceId, type }) =>
        this.manager.execute(resourceId, { kind: 'end-session', type, asker: { nodeId, sessionId }, error }),
      );
    await Promise.all(ends);
    await this.records.delete(sessionId);
    this.deadlines.schedule(session, Infinity);
    this.sessions.delete(sessionId);
    for (const callback of session.onEnd) callback();
  }

  /** A request that was under way when its session ended was granted or queued all the same: it is ended too. */
  private checkLate(resourceId: string, { name, type, nodeId }: LockEvent, sessionId: string): void {
    const session = this.sessions.get(sessionId);
    const begins = name === 'granted' || name === 'assigned' || name === 'queued';
    if (!begins || (session && !session.ending)) return;
    const error = 'the session had ended';
    this.manager
      .execute(resourceId, { kind: 'end-session', type, asker: { nodeId, sessionId }, error })
      .catch(() => this.open(sessionId, nodeId, this.options.sessionTtlMs, true));
  }
}
