import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { type DestinationStream, type Logger, symbols } from 'pino';
import { type Subscription } from 'rxjs';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { endedWithSession, type LockEvent } from '../core/events.js';
import { EventBus } from '../subscriptions/event-bus.js';
import { PINO } from './pino-logger.js';
import { jsonOf } from '../core/text.js';

/**
 * One line per grant, queueing, hand-over, success, failure, expiry and end with a session. `node` is whom it is about, `holder` who holds the
 * lock then, as far as this process has seen it granted.
 *
 * Every request that changes anything writes a line, so that it is put together here, as pino would, in a third of the time.
 */
@Injectable()
export class EventLog implements OnModuleInit, OnModuleDestroy {
  private subscription: Subscription | undefined;
  private readonly lines: DestinationStream;
  private readonly holders = new Map<string, string>();

  constructor(
    private readonly bus: EventBus,
    @Inject(PINO) private readonly pino: Logger,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.lines = (pino as unknown as Record<symbol, DestinationStream>)[symbols.streamSym]!;
  }

  onModuleInit(): void {
    if (!this.pino.isLevelEnabled('info')) return;
    this.subscription = this.bus.recounted$.subscribe((recent) => {
      for (const { resourceId, events } of recent) for (const event of events) this.write(resourceId, event);
    });
    this.subscription.add(this.bus.gaps$.subscribe(() => this.holders.clear()));
  }

  private write(resourceId: string, event: LockEvent): void {
    const { name, type, token } = event;
    const key = type === '' ? resourceId : `${type}:${resourceId}`;
    if (name === 'granted' || name === 'assigned') this.holders.set(key, event.nodeId);
    else if (token !== undefined) this.holders.delete(key);
    const { nodeId, sessionId, error, dismissed } = event;
    const holder = this.holders.get(key);
    let line = `{"level":30,"time":${this.clock.wallMs()},"key":${jsonOf(key)},"node":${jsonOf(nodeId)}`;
    if (sessionId !== undefined) line += `,"session":${jsonOf(sessionId)}`;
    if (holder !== undefined) line += `,"holder":${jsonOf(holder)}`;
    if (token !== undefined) line += `,"token":${token}`;
    if (error !== '') line += `,"error":${jsonOf(error)}`;
    if (dismissed > 0) line += `,"dismissed":${dismissed}`;
    this.lines.write(`${line},"msg":"${endedWithSession(event) ? 'ended' : name}"}\n`);
  }

  /** A signal may come between an answer and the turn in which it is accounted for. */
  onModuleDestroy(): void {
    this.bus.recount();
    this.subscription?.unsubscribe();
  }
}
