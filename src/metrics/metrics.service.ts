import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { Subscription } from 'rxjs';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { type LockEvent } from '../core/events.js';
import { keyOf } from '../core/state.js';
import { type MeasuredCommit } from '../locking/committer.js';
import { LockManager } from '../locking/lock-manager.js';
import { LockingService } from '../locking/locking.service.js';
import { LongPolls } from '../locking/long-polls.js';
import { EventBus } from '../subscriptions/event-bus.js';
import { OpenStreams } from '../subscriptions/open-streams.js';
import { SessionsService } from '../sessions/sessions.service.js';

/** Work lasts from milliseconds to hours. */
const SECONDS = [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300, 1800, 7200];

/** A store on a good disk takes less than a millisecond, one across a continent a tenth of a second. */
const STORE_SECONDS = [0.0002, 0.001, 0.005, 0.02, 0.1, 0.5, 2, 10];

/** A claim is a round trip of its new holder, or never comes. */
const CLAIM_SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

const COMMANDS = [1, 2, 5, 10, 50, 200, 1000];

/** Names of users' own types would make as many series as somebody likes: they are counted together. */
const TYPES: ReadonlySet<string> = new Set(['pull', 'update', 'delete']);
const label = (type: string) => (TYPES.has(type) ? type : 'other');

/** Commits without events are measured when somebody asks, or so many at once: one by one between requests takes longer. */
const MEASURED_TOGETHER = 100;

/**
 * What operators watch, learnt from the change feed: every instance counts every event once that it was shown. Only the
 * commits are those of this instance alone.
 */
@Injectable()
export class MetricsService implements OnModuleInit, OnModuleDestroy {
  readonly registry = new Registry();
  private readonly subscription = new Subscription();
  /** Hand-overs not claimed yet: tokens by type, by resource. */
  private readonly handedOver = new Map<string, Map<string, number>>();
  /** Not yet measured. */
  private readonly commits: MeasuredCommit[] = [];

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
    help: 'Times a node was told to skip the work because another had done it',
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

  private readonly claim = new Histogram({
    name: 'holdfast_hand_over_seconds',
    help: 'From handing a lock over to the claim of its new holder',
    labelNames: ['type'],
    buckets: CLAIM_SECONDS,
    registers: [this.registry],
  });
  private readonly store = new Histogram({
    name: 'holdfast_store_commit_seconds',
    help: 'How long the store takes for a commit',
    labelNames: ['outcome'],
    buckets: STORE_SECONDS,
    registers: [this.registry],
  });
  private readonly combined = new Histogram({
    name: 'holdfast_commands_per_commit',
    help: 'Requests that one commit answers',
    buckets: COMMANDS,
    registers: [this.registry],
  });

  constructor(
    private readonly bus: EventBus,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly manager: LockManager,
    private readonly locking: LockingService,
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
    this.gauge('holdfast_waiters', 'Nodes that are queued', () => manager.waiting);
    this.gauge('holdfast_long_polls', 'Long polls that wait', () => longPolls.size);
    this.gauge('holdfast_open_streams', 'Event streams that are open', () => streams.size);
    this.gauge('holdfast_sessions', 'Sessions that are open', () => sessions.size);
  }

  onModuleInit(): void {
    const { bus, manager, locking, subscription } = this;
    subscription.add(locking.skips$.subscribe((type) => this.avoided.labels(label(type)).inc()));
    subscription.add(
      bus.events$.subscribe(({ resourceId, events }) => {
        for (const event of events) if (event.name === 'assigned') this.assigned(resourceId, event);
      }),
    );
    subscription.add(
      bus.recounted$.subscribe((recent) => {
        for (const { events } of recent) for (const event of events) this.count(event);
        this.measureAll();
      }),
    );
    subscription.add(bus.changes$.subscribe((resourceId) => this.changed(resourceId)));
    subscription.add(
      bus.gaps$.subscribe(({ concerns }) => {
        for (const resourceId of this.handedOver.keys()) if (concerns(resourceId)) this.changed(resourceId);
      }),
    );
    subscription.add(manager.commits$.subscribe((commit) => this.committed(commit)));
  }

  onModuleDestroy(): void {
    this.subscription.unsubscribe();
  }

  private gauge(name: string, help: string, value: () => number | Promise<number>): void {
    const registers = [this.registry];
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await value());
      },
    });
  }

  /** In the text form of Prometheus. */
  text(): Promise<string> {
    this.measureAll();
    return this.registry.metrics();
  }

  private assigned(resourceId: string, { type, token }: LockEvent): void {
    const tokens = this.handedOver.get(resourceId) ?? new Map<string, number>();
    this.handedOver.set(resourceId, tokens.set(type, token!));
  }

  private committed(commit: MeasuredCommit): void {
    if (this.commits.push(commit) === MEASURED_TOGETHER) this.measureAll();
  }

  private measureAll(): void {
    for (const commit of this.commits.splice(0)) this.measure(commit);
  }

  private measure({ commands, tookMs, outcome }: MeasuredCommit): void {
    this.store.labels(outcome).observe(tookMs / 1000);
    if (outcome === 'committed') this.combined.observe(commands);
  }

  /** Claims are no events. */
  private changed(resourceId: string): void {
    const tokens = this.handedOver.get(resourceId);
    if (!tokens) return;
    const state = this.manager.peek(resourceId);
    for (const [type, token] of tokens) {
      const hold = state && keyOf(state, type)?.hold;
      if (hold?.token === token && !hold.claimed) continue;
      tokens.delete(type);
      if (hold?.token !== token) continue;
      this.claim.labels(label(type)).observe(Math.max(0, this.clock.wallMs() - hold.acquiredAtMs) / 1000);
    }
    if (tokens.size === 0) this.handedOver.delete(resourceId);
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
