import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { SESSION_ENDED } from '../core/events.js';
import { Heartbeat } from '../instances/heartbeat.js';
import { type SessionDirectory } from '../locking/session-directory.interface.js';
import { refusal } from '../locking/wire/refusals.js';
import { STATE_STORE, type StateStore } from '../stores/state-store.interface.js';
import { StoreError } from '../stores/store.error.js';
import { type Session } from './session.js';
import { SessionEndings } from './session-endings.js';
import { SessionRecords } from './session-records.js';
import { SessionTable } from './session-table.js';
import { SESSION_OPTIONS, type SessionOptions } from './sessions.module-definition.js';

/** Another instance may get in between a few times; a session that moves more often has two masters. */
const MAX_TRIES = 8;

/** An engine has one while this server works on the other; a disk takes one at a time, and memory keeps nobody waiting. */
const BATCHES_OVER_AN_ENGINE = 2;

/**
 * Liveness of node processes, apart from what they hold. A session that is ended, or is not renewed within its TTL of watched
 * time, fails every hold and withdraws every wait of its process. After a restart each has its full TTL again.
 *
 * Over a shared store it is attached to one instance, whose renewals write nothing. A renewal or stream at another one moves it
 * there. A renewal is answered only while the others cannot have taken this instance for dead, and rests on the store itself:
 * whoever is cut off learns late that the session has moved, and is the last to know that it is cut off. So it holds for the TTL.
 */
@Injectable()
export class SessionsService implements SessionDirectory {
  constructor(
    private readonly table: SessionTable,
    private readonly records: SessionRecords,
    private readonly endings: SessionEndings,
    private readonly heartbeat: Heartbeat,
    @Inject(STATE_STORE) private readonly store: StateStore,
    @Inject(SESSION_OPTIONS) private readonly options: SessionOptions,
  ) {}

  get size(): number {
    return this.table.size;
  }

  /** One that is not known here may have been made elsewhere just now; one that seems to be over may have been renewed there. */
  isOpen(sessionId: string, nodeId: string): boolean | Promise<boolean> {
    const known = this.table.find(sessionId);
    if (!this.store.shared || known?.isOpen || known?.record?.ended) {
      return known?.isOpen === true && known.nodeId === nodeId;
    }
    return this.table.look(sessionId).then(() => {
      const session = this.table.find(sessionId);
      return session?.record !== undefined && !session.isOver && session.nodeId === nodeId;
    });
  }

  async create(nodeId: string, ttlMs = this.options.sessionTtlMs) {
    await this.heartbeat.assure();
    const id = randomBytes(16).toString('base64url');
    const { instanceId } = this.heartbeat;
    const record = await this.records.create({
      id,
      nodeId,
      ttlMs,
      instanceId,
      attachment: 0,
      ended: false,
      closed: false,
    });
    if (!record) throw unavailable('create');
    this.table.take(record);
    const parallel_batches = this.store.shared ? BATCHES_OVER_AN_ENGINE : 1;
    return { session_id: id, node_id: nodeId, ttl_ms: ttlMs, parallel_batches };
  }

  async renew(id: string) {
    const session = await this.attach(id);
    this.table.countDown(session);
    return { renewed: true, session_id: id, ttl_ms: session.ttlMs };
  }

  /** Ending a session that is not there is no error: the first answer may have been lost. */
  async end(id: string) {
    const answer = { ended: true, session_id: id };
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (this.store.shared && !this.table.find(id)?.record) await this.table.look(id);
      const session = this.table.find(id);
      if (!session || (await this.endings.end(session, SESSION_ENDED))) return answer;
    }
    throw unavailable('end');
  }

  /** The session, from now on attached to this instance. */
  async attach(id: string): Promise<Session> {
    await this.heartbeat.assure();
    if (this.store.shared) await this.table.look(id);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const session = this.table.find(id);
      if (session?.isOpen && this.table.isHere(session)) return session;
      if (!this.store.shared) throw notFound();
      if (tries > 0) await this.table.look(id);
      await this.move(id);
    }
    throw unavailable('attach');
  }

  /** Calls back when the session has ended; the answer stops that. */
  onEnd({ onEnd }: Session, callback: () => void): () => void {
    onEnd.add(callback);
    return () => void onEnd.delete(callback);
  }

  private async move(id: string): Promise<void> {
    const session = this.table.find(id);
    if (!session?.record || session.record.ended) throw notFound();
    if (session.isOpen && this.table.isHere(session)) return;
    const { record } = session;
    const { instanceId } = this.heartbeat;
    const moved = await this.records.replace(record, {
      ...record,
      instanceId,
      attachment: record.attachment + 1,
    });
    if (moved) this.table.take(moved);
  }
}

function notFound() {
  return refusal({
    kind: 'refused',
    code: 'SESSION_NOT_FOUND',
    error: 'the session is unknown or has ended',
  });
}

function unavailable(operation: string): StoreError {
  return new StoreError('STORE_UNAVAILABLE', operation, 'the session keeps changing: try again');
}
