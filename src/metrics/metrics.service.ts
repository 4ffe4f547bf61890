import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { Subscription } from 'rxjs';
import { CLOCK, type Clock } from '../common/clock.interface.js';
import { endedWithSession, type LockEvent } from '../core/events.js';
import { keyOf } from '../core/state.js';
import { type MeasuredCommit } from '../locking/committer.js';
import { LockManager } from '../locking/lock-manager.js';
import { LockingService } from '../locking/locking.service.js';
import { LongPolls } from '../locking/long-polls.js';
import { EventBus } from '../subscriptions/event-bus.js';
import { OpenStreams } from '../subscriptions/open-streams.js';
import { SessionsService } from '../sessions/sessions.service.js';
import { Distribution, register, Tally } from './series.js';

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
const BY_TYPE = 'type is pull, update, delete or, for all types of your own together, other';

/**
 * What operators watch, learnt from the change feed: every instance counts every event once that it was shown. Only the
 * commits are those of this instance alone.
 */
@Injectable()
export class MetricsService implements OnModuleInit, OnModuleDestroy {
  readonly registry = new Registry();
  private readonly subscription = new Subscription();
  private stopping = false;
  /** Hand-overs not claimed yet: tokens by type, by resource. */
  private readonly handedOver = new Map<string, Map<string, number>>();

  private readonly acquisitions = new Tally(
    'holdfast_acquisitions_total',
    `Locks granted at once, handed over to a waiter, or queued for; ${BY_TYPE}`,
    ['type', 'how'],
  );
  private readonly outcomes = new Tally(
    'holdfast_outcomes_total',
    `How runs ended: success, failure (reported or forced), fatal, expired (by silence), ended (its process closed the session); ${BY_TYPE}`,
    ['type', 'outcome'],
  );
  private readonly avoided = new Tally(
    'holdfast_work_avoided_total',
    `Times a node was told to skip the work because another had done it; ${BY_TYPE}`,
    ['type'],
  );
  private readonly wait = new Distribution(
    'holdfast_wait_seconds',
    `From asking to being granted; ${BY_TYPE}`,
    'type',
    SECONDS,
  );
  private readonly hold = new Distribution(
    'holdfast_hold_seconds',
    `From being granted to the end of the run; ${BY_TYPE}`,
    'type',
    SECONDS,
  );

  private readonly claim = new Distribution(
    'holdfast_hand_over_seconds',
    `From handing a lock over to the claim of its new holder; ${BY_TYPE}`,
    'type',
    CLAIM_SECONDS,
  );
  private readonly store = new Distribution(
    'holdfast_store_commit_seconds',
    'How long the store takes for a commit',
    'outcome',
    STORE_SECONDS,
  );
  private readonly combined = new Distribution(
    'holdfast_commands_per_commit',
    'Requests that one commit answers',
    undefined,
    COMMANDS,
  );

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
    const { acquisitions, outcomes, avoided, wait, hold, claim, store, combined } = this;
    register(this.registry, acquisitions, outcomes, avoided, wait, hold, claim, store, combined);
    this.gauge(
      'holdfast_ready',
      '1 while the changes of the store are seen and nobody has asked the process to stop, else 0',
      () => Number(manager.isWatching && !this.stopping),
    );
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
    subscription.add(locking.skips$.subscribe((type) => this.avoided.add(label(type))));
    subscription.add(
      bus.events$.subscribe((all) => {
        for (const { resourceId, events } of all) {
          for (const event of events) if (event.name === 'assigned') this.assigned(resourceId, event);
          if (this.handedOver.size > 0) this.changed(resourceId);
        }
      }),
    );
    subscription.add(
      bus.recounted$.subscribe((recent) => {
        for (const { events } of recent) for (const event of events) this.count(event);
      }),
    );
    subscription.add(
      bus.gaps$.subscribe(({ concerns }) => {
        for (const resourceId of this.handedOver.keys()) if (concerns(resourceId)) this.changed(resourceId);
      }),
    );
    subscription.add(manager.commits$.subscribe((commit) => this.measure(commit)));
  }

  onModuleDestroy(): void {
    this.stopping = true;
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
    return this.registry.metrics();
  }

  private assigned(resourceId: string, { type, token }: LockEvent): void {
    const tokens = this.handedOver.get(resourceId) ?? new Map<string, number>();
    this.handedOver.set(resourceId, tokens.set(type, token!));
  }

  private measure({ commands, tookMs, outcome }: MeasuredCommit): void {
    this.store.observe(outcome, tookMs / 1000);
    if (outcome === 'committed') this.combined.observe('', commands);
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
      this.claim.observe(label(type), Math.max(0, this.clock.wallMs() - hold.acquiredAtMs) / 1000);
    }
    if (tokens.size === 0) this.handedOver.delete(resourceId);
  }

  private count(event: LockEvent): void {
    const type = label(event.type);
    const outcome = endedWithSession(event) ? 'ended' : OUTCOMES[event.name];
    if (event.name === 'granted' || event.name === 'assigned') this.wait.observe(type, secondsSince(event));
    if (event.name === 'granted' || event.name === 'assigned' || event.name === 'queued') {
      this.acquisitions.add(type, event.name);
    }
    if (outcome && event.token !== undefined) {
      this.outcomes.add(type, outcome);
      this.hold.observe(type, secondsSince(event));
    }
    if (event.success && event.dismissed > 0) this.avoided.add(type, '', event.dismissed);
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
