import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type Subscription } from 'rxjs';
import { type LockEvent } from '../core/events.js';
import { LockManager } from '../locking/lock-manager.js';
import { LongPolls } from '../locking/long-polls.js';
import { EventBus } from '../subscriptions/event-bus.js';
import { OpenStreams } from '../subscriptions/open-streams.js';
import { SessionsService } from '../sessions/sessions.service.js';

/** Work lasts from milliseconds to hours. */
const SECONDS = [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300, 1800, 7200];

/** Names of users' own types would make as many series as somebody likes: they are counted together. */
const TYPES: ReadonlySet<string> = new Set(['pull', 'update', 'delete']);
const label = (type: string) => (TYPES.has(type) ? type : 'other');

/** What operators watch, learnt from the change feed: every instance counts every event once. */
@Injectable()
export class MetricsService implements OnModuleInit, OnModuleDestroy {
  readonly registry = new Registry();
  private subscription: Subscription | undefined;

  private readonly acquisitions = new Counter({
    name: 'holdfast_acquisitions_total',
    help: 'Locks granted at once, handed over to a waiter, or queued for',
    labelNames: ['type', 'how'],
    registers: [this.registry],
  });
  private readonly outcomes = new Counter({
    name: 'holdfast_outcomes_total',
    help: 'How runs ended: success, failure (reported or forced), fatal, expired',
    labelNames: ['type', 'outcome'],
    registers: [this.registry],
  });
  private readonly avoided = new Counter({
    name: 'holdfast_work_avoided_total',
    help: 'Waiters sent away because another node had done the work',
    labelNames: ['type'],
    registers: [this.registry],
  });
  private readonly wait = new Histogram({
    name: 'holdfast_wait_seconds',
    help: 'From asking to being granted',
    labelNames: ['type'],
    buckets: SECONDS,
    registers: [this.registry],
  });
  private readonly hold = new Histogram({
    name: 'holdfast_hold_seconds',
    help: 'From being granted to the end of the run',
    labelNames: ['type'],
    buckets: SECONDS,
    registers: [this.registry],
  });

  constructor(
    private readonly bus: EventBus,
    @Inject(LockManager) manager: LockManager,
    longPolls: LongPolls,
    streams: OpenStreams,
    sessions: SessionsService,
  ) {
    collectDefaultMetrics({ register: this.registry });
    this.gauge(
      'holdfast_resources',
      'Resources with anything held, awaited, remembered or referenced',
      () => manager.size,
    );
    this.gauge('holdfast_long_polls', 'Long polls that wait', () => longPolls.size);
    this.gauge('holdfast_open_streams', 'Event streams that are open', () => streams.size);
    this.gauge('holdfast_sessions', 'Sessions that are open', () => sessions.size);
  }

  onModuleInit(): void {
    this.subscription = this.bus.events$.subscribe(({ events }) => {
      for (const event of events) this.count(event);
    });
  }

  onModuleDestroy(): void {
    this.subscription?.unsubscribe();
  }

  private gauge(name: string, help: string, value: () => number): void {
    const registers = [this.registry];
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  }

  private count(event: LockEvent): void {
    const type = label(event.type);
    const outcome = OUTCOMES[event.name];
    if (event.name === 'granted' || event.name === 'assigned')
      this.wait.labels(type).observe(secondsSince(event));
    if (event.name === 'granted' || event.name === 'assigned' || event.name === 'queued') {
      this.acquisitions.labels(type, event.name).inc();
    }
    if (outcome && event.token !== undefined) {
      this.outcomes.labels(type, outcome).inc();
      this.hold.labels(type).observe(secondsSince(event));
    }
    if (event.success && event.dismissed > 0) this.avoided.labels(type).inc(event.dismissed);
  }
}

const OUTCOMES: Partial<Record<LockEvent['name'], string>> = {
  completed: 'success',
  released: 'failure',
  failed: 'fatal',
  expired: 'expired',
};

function secondsSince({ atMs, sinceMs }: LockEvent): number {
  return sinceMs === undefined ? 0 : Math.max(0, atMs - sinceMs) / 1000;
}
