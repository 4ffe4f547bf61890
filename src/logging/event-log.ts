import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { type Logger } from 'pino';
import { type Subscription } from 'rxjs';
import { EventBus } from '../subscriptions/event-bus.js';
import { PINO } from './pino-logger.js';

/** One line per grant, queueing, hand-over, success, failure and expiry. */
@Injectable()
export class EventLog implements OnModuleInit, OnModuleDestroy {
  private subscription: Subscription | undefined;

  constructor(
    private readonly bus: EventBus,
    @Inject(PINO) private readonly pino: Logger,
  ) {}

  onModuleInit(): void {
    if (!this.pino.isLevelEnabled('info')) return;
    this.subscription = this.bus.events$.subscribe(({ resourceId, events }) => {
      for (const { name, type, nodeId, sessionId, token, error, dismissed } of events) {
        const key = type === '' ? resourceId : `${type}:${resourceId}`;
        this.pino.info(
          {
            key,
            node: nodeId,
            session: sessionId,
            token,
            error: error || undefined,
            dismissed: dismissed || undefined,
          },
          name,
        );
      }
    });
  }

  onModuleDestroy(): void {
    this.subscription?.unsubscribe();
  }
}
