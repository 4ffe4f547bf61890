import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Subscription } from 'rxjs';
import { type LockEvent, SESSION_ENDED } from '../core/events.js';
import { LockManager } from '../locking/lock-manager.js';
import { STATE_STORE, type StateStore } from '../stores/state-store.interface.js';
import { EventBus } from '../subscriptions/event-bus.js';
import { type Session } from './session.js';
import { SessionKeys } from './session-keys.js';
import { SessionRecords } from './session-records.js';
import { SessionTable } from './session-table.js';

/** After a failed ending (the store is away) it is tried again. */
const RETRY_MS = 1000;

/**
 * Ends sessions: every hold fails, every wait is withdrawn. Where several instances could do it, the one that marks the
 * record as ended does; a session that has moved meanwhile stays.
 */
@Injectable()
export class SessionEndings implements OnModuleDestroy {
  private readonly subscription = new Subscription();

  constructor(
    private readonly table: SessionTable,
    private readonly records: SessionRecords,
    private readonly keys: SessionKeys,
    private readonly manager: LockManager,
    bus: EventBus,
    @Inject(STATE_STORE) private readonly store: StateStore,
  ) {
    this.subscription.add(table.due$.subscribe((session) => void this.expire(session)));
    const events = bus.events$.subscribe((all) => {
      for (const { resourceId, events } of all)
        for (const event of events)
          if (event.sessionId !== undefined) this.checkLate(resourceId, event, event.sessionId);
    });
    this.subscription.add(events);
  }

  onModuleDestroy(): void {
    this.subscription.unsubscribe();
  }

  /**
   * The record goes last: after a crash in between, the session is found again and ended again. False: it is not as it
   * was last seen.
   */
  async end(session: Session, error: string): Promise<boolean> {
    session.ending = true;
    if (this.store.shared && !(await this.mark(session, error))) return false;
    await this.learnKeys(session);
    const { id: sessionId, nodeId } = session;
    const ends = this.keys
      .keysOf(sessionId)
      .map(({ resourceId, type }) =>
        this.manager.execute(resourceId, { kind: 'end-session', type, asker: { nodeId, sessionId }, error }),
      );
    await Promise.all(ends);
    if (session.record) await this.records.delete(session.record);
    this.table.remove(session);
    return true;
  }

  /** From then on nobody renews or moves it. */
  private async mark(session: Session, error: string): Promise<boolean> {
    const { record } = session;
    if (record?.ended) return true;
    const closed = error === SESSION_ENDED;
    const marked = record && (await this.records.replace(record, { ...record, ended: true, closed }));
    if (marked) {
      this.table.take(marked);
      return true;
    }
    await this.table.look(session.id);
    return !record && !session.record;
  }

  /** What it was granted at another instance an instant before is ended, too, before anybody is told that it has ended. */
  private async learnKeys({ id, record }: Session): Promise<void> {
    if (!this.store.shared || !record) return;
    await this.manager.caughtUp(this.records.partitionOf(id), record.revision);
  }

  /**
   * Also what another instance has begun and not finished: then for the reason that it had. A try that failed is repeated, unless
   * the session was renewed meanwhile: then its record is another.
   */
  private async expire(session: Session): Promise<void> {
    const { record } = session;
    try {
      await this.end(session, record?.closed ? SESSION_ENDED : 'the session was not renewed in time');
    } catch {
      if (session.record === record || session.record?.ended) this.table.tryAgainIn(session, RETRY_MS);
    }
  }

  /** A request that was under way when its session ended was granted or queued all the same: it is ended too. */
  private checkLate(resourceId: string, { name, type, nodeId }: LockEvent, sessionId: string): void {
    if (name !== 'granted' && name !== 'assigned' && name !== 'queued') return;
    const session = this.table.find(sessionId);
    const certain = this.store.shared || !session?.record;
    if (session && (certain ? !session.isOver : session.isOpen)) return;
    if (this.store.shared && !session) return this.table.addOrphan(sessionId, nodeId);
    const error = 'the session had ended';
    this.manager
      .execute(resourceId, { kind: 'end-session', type, asker: { nodeId, sessionId }, error })
      .catch(() => this.table.addOrphan(sessionId, nodeId));
  }
}
