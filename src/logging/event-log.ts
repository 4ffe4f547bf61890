import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { type Logger } from 'pino';
import { type Subscription } from 'rxjs';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { endedWithSession, type LockEvent } from '../core/events.js';
import { KeyMap } from '../common/key-map.js';
import { EventBus } from '../subscriptions/event-bus.js';
import { LogLines, MOST_BYTES_PER_CHARACTER } from './log-lines.js';
import { PINO } from './pino-logger.js';

/** All that every line has, and its numbers at their longest. */
const MOST_BYTES_BESIDE_TEXTS = 256;

/**
 * One line per grant, queueing, hand-over, success, failure, expiry and end with a session. `node` is whom it is about, `holder` who holds the
 * lock then, as far as this process has seen it granted.
 *
 * Every request that changes anything writes a line, so that it is put together here, as pino would, byte by byte: nothing is left to collect.
 */
@Injectable()
export class EventLog implements OnModuleInit, OnModuleDestroy {
  private subscription: Subscription | undefined;
  private readonly holders = new KeyMap<string>();

  constructor(
    private readonly bus: EventBus,
    @Inject(PINO) private readonly pino: Logger,
    private readonly lines: LogLines,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    if (!this.pino.isLevelEnabled('info')) return;
    this.subscription = this.bus.recounted$.subscribe((recent) => {
      const beginning = `{"level":30,"time":${this.clock.wallMs()},"key":"`;
      for (const { resourceId, events } of recent) {
        for (const event of events) this.write(beginning, resourceId, event);
      }
    });
    this.subscription.add(this.bus.gaps$.subscribe(() => this.holders.clear()));
  }

  private write(beginning: string, resourceId: string, event: LockEvent): void {
    const { lines } = this;
    const { name, type, nodeId, sessionId, token, error, dismissed } = event;
    const holder = this.holderThen(resourceId, event);
    const characters = type.length + resourceId.length + nodeId.length + error.length;
    const optional = (sessionId?.length ?? 0) + (holder?.length ?? 0);
    lines.begin(MOST_BYTES_BESIDE_TEXTS + MOST_BYTES_PER_CHARACTER * (characters + optional));
    lines.ascii(beginning);
    if (type !== '') {
      lines.escaped(type);
      lines.ascii(':');
    }
    lines.escaped(resourceId);
    lines.ascii('","node":"');
    lines.escaped(nodeId);
    if (sessionId !== undefined) {
      lines.ascii('","session":"');
      lines.escaped(sessionId);
    }
    if (holder !== undefined) {
      lines.ascii('","holder":"');
      lines.escaped(holder);
    }
    lines.ascii('"');
    if (token !== undefined) {
      lines.ascii(',"token":');
      lines.ascii(String(token));
    }
    if (error !== '') {
      lines.ascii(',"error":"');
      lines.escaped(error);
      lines.ascii('"');
    }
    if (dismissed > 0) lines.ascii(`,"dismissed":${dismissed}`);
    lines.ascii(',"msg":"');
    lines.ascii(endedWithSession(event) ? 'ended' : name);
    lines.ascii('"}\n');
  }

  private holderThen(resourceId: string, { name, type, nodeId, token }: LockEvent): string | undefined {
    if (name === 'granted' || name === 'assigned') {
      this.holders.set(type, resourceId, nodeId);
      return nodeId;
    }
    if (token === undefined) return this.holders.get(type, resourceId);
    this.holders.delete(type, resourceId);
    return undefined;
  }

  /** A signal may come between an answer and the turn in which it is accounted for. */
  onModuleDestroy(): void {
    this.bus.recount();
    this.subscription?.unsubscribe();
  }
}
