import { type BeforeApplicationShutdown, Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { Subject, Subscription } from 'rxjs';
import { Heartbeat } from '../instances/heartbeat.js';
import { Instances } from '../instances/instances.js';
import { type Deadlines } from '../locking/deadlines.js';
import { LockManager } from '../locking/lock-manager.js';
import { type Change } from '../stores/state-store.interface.js';
import { EventBus } from '../subscriptions/event-bus.js';
import { Session } from './session.js';
import { SessionKeys } from './session-keys.js';
import { type SessionRecord, SessionRecords } from './session-records.js';
import { SESSION_OPTIONS, type SessionOptions } from './sessions.module-definition.js';

/**
 * All sessions that there are, learnt from the store, and how long each still has. The time of a session runs where it is
 * attached. Elsewhere it runs only when that instance is dead, when the session was ended and is not gone, or when
 * there is no record of it: in full, from when this was noticed.
 */
@Injectable()
export class SessionTable implements OnModuleInit, BeforeApplicationShutdown {
  /** Sessions whose time is up. */
  readonly due$ = new Subject<Session>();
  private readonly sessions = new Map<string, Session>();
  private readonly deadlines: Deadlines<Session>;
  private readonly subscription = new Subscription();
  private unreadable: unknown;

  constructor(
    private readonly records: SessionRecords,
    private readonly keys: SessionKeys,
    private readonly instances: Instances,
    private readonly heartbeat: Heartbeat,
    manager: LockManager,
    bus: EventBus,
    @Inject(SESSION_OPTIONS) private readonly options: SessionOptions,
  ) {
    this.deadlines = manager.newDeadlines((session) => this.due$.next(session));
    this.subscription.add(manager.others$.subscribe((change) => this.shown(change)));
    this.subscription.add(instances.changes$.subscribe((id) => this.instanceChanged(id)));
    this.subscription.add(bus.gaps$.subscribe(() => this.findOrphans()));
  }

  onModuleInit(): void {
    if (this.unreadable) throw this.unreadable;
    this.findOrphans();
  }

  beforeApplicationShutdown(): void {
    this.deadlines.stop();
    this.subscription.unsubscribe();
  }

  get size(): number {
    return this.sessions.size;
  }

  find(id: string): Session | undefined {
    return this.sessions.get(id);
  }

  isHere({ record }: Session): boolean {
    return record?.instanceId === this.heartbeat.instanceId;
  }

  /** Takes a record that was written or read, unless a newer one is known. */
  take(record: SessionRecord): Session {
    const session = this.sessions.get(record.id) ?? new Session(record.id, record);
    if (!session.record || session.record.revision < record.revision) this.put(session, record);
    return session;
  }

  /** Makes it what it is in the store now, also if that is older: then the store has lost what was known. */
  async look(id: string): Promise<void> {
    const before = this.sessions.get(id)?.record;
    const record = await this.records.read(id);
    const session = this.sessions.get(id);
    if (session?.record !== before) return void (record && this.take(record));
    if (!record) return session && before && this.lose(session);
    if (record.revision !== before?.revision) this.put(session ?? new Session(id, record), record);
  }

  /** The record is deleted, or was never there. */
  remove(session: Session): void {
    this.deadlines.schedule(session, Infinity);
    if (this.sessions.get(session.id) === session) this.sessions.delete(session.id);
    for (const callback of session.onEnd) callback();
    session.onEnd.clear();
  }

  /** Something is held or awaited in the name of a session that is not known. */
  addOrphan(id: string, nodeId: string): void {
    if (this.sessions.has(id)) return;
    const session = new Session(id, { nodeId, ttlMs: this.options.sessionTtlMs });
    this.sessions.set(id, session);
    this.countDown(session);
  }

  /** From now on it has its full time, or none of this process's concern. */
  countDown(session: Session): void {
    this.deadlines.schedule(
      session,
      this.isElsewhere(session) ? Infinity : this.deadlines.now() + session.ttlMs,
    );
  }

  tryAgainIn(session: Session, delayMs: number): void {
    if (this.sessions.get(session.id) === session) {
      this.deadlines.schedule(session, this.deadlines.now() + delayMs);
    }
  }

  private isElsewhere(session: Session): boolean {
    const { record } = session;
    return record !== undefined && !record.ended && this.instances.isElsewhere(record.instanceId);
  }

  private shown(change: Change): void {
    const id = this.records.idOf(change);
    if (id === undefined) return;
    const { key, revision, value } = change;
    if (revision < (this.sessions.get(id)?.record?.revision ?? 0)) return this.lookAgain(id);
    if (value === undefined) return this.deleted(id);
    try {
      this.take(this.records.decode({ key, revision, value: value.toString() }));
    } catch (error) {
      this.unreadable ??= error;
    }
  }

  /** Shown older than it is known: seldom a watch that lags, and else a store that has lost something. */
  private lookAgain(id: string): void {
    this.look(id).catch(() => undefined);
  }

  private deleted(id: string): void {
    const session = this.sessions.get(id);
    if (session?.record) this.lose(session);
  }

  /** What it was granted while it was being ended is still there. */
  private lose(session: Session): void {
    this.remove(session);
    if (this.keys.keysOf(session.id).length > 0) this.addOrphan(session.id, session.nodeId);
  }

  private put(session: Session, record: SessionRecord): void {
    session.record = record;
    if (!record.ended) session.ending = false;
    this.sessions.set(record.id, session);
    this.countDown(session);
  }

  /** The time of one that was ended runs already, wherever it was attached. */
  private instanceChanged(id: string): void {
    for (const session of this.sessions.values()) {
      if (session.record?.instanceId === id && !session.record.ended) this.countDown(session);
    }
  }

  private findOrphans(): void {
    for (const { sessionId, nodeId } of this.keys.sessions()) this.addOrphan(sessionId, nodeId);
  }
}
