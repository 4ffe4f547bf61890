import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { type Logger } from 'pino';
import { type Subscription } from 'rxjs';
import { type LockEvent } from '../core/events.js';
import { EventBus } from '../subscriptions/event-bus.js';
import { PINO } from './pino-logger.js';

/**
 * One line per grant, queueing, hand-over, success, failure and expiry. `node` is whom it is about, `holder` who holds the
 * lock then, as far as this process has seen it granted.
 */
@Injectable()
export class EventLog implements OnModuleInit, OnModuleDestroy {
  private subscription: Subscription | undefined;
  private readonly holders = new Map<string, string>();

  constructor(
    private readonly bus: EventBus,
    @Inject(PINO) private readonly pino: Logger,
  ) {}

  onModuleInit(): void {
    if (!this.pino.isLevelEnabled('info')) return;
    this.subscription = this.bus.events$.subscribe(({ resourceId, events }) => {
      for (const event of events) this.write(resourceId, event);
    });
    this.subscription.add(this.bus.gaps$.subscribe(() => this.holders.clear()));
  }

  private write(resourceId: string, event: LockEvent): void {
    const { name, type, token } = event;
    const key = type === '' ? resourceId : `${type}:${resourceId}`;
    if (name === 'granted' || name === 'assigned') this.holders.set(key, event.nodeId);
    else if (token !== undefined) this.holders.delete(key);
    this.pino.info(
      {
        key,
        node: event.nodeId,
        session: event.sessionId,
        holder: this.holders.get(key),
        token,
        error: event.error || undefined,
        dismissed: event.dismissed || undefined,
      },
      name,
    );
  }

  onModuleDestroy(): void {
    this.subscription?.unsubscribe();
  }
}
