import { type Asker } from '../../src/core/chunked-list.js';
import { type Acquire } from '../../src/core/commands.js';
import { type Moment } from '../../src/core/moment.js';
import { type Policy } from '../../src/core/policy.js';
import { type ReleaseResult } from '../../src/core/results.js';

export interface HolderRecord {
  readonly who: string;
  readonly node: string;
  readonly token: number;
  renewed: number;
}

export interface WaiterRecord {
  readonly who: string;
  readonly node: string;
  readonly ticket: Moment;
  /** Index in the configured lanes; those without one come last. */
  readonly lane: number;
  absent: boolean;
  leaseMs: number | undefined;
  renewed: number;
}

export interface OutcomeRecord {
  readonly moment: Moment;
  readonly atMs: number;
  /** What it refuses with; undefined for a success. */
  readonly code: string | undefined;
}

export interface ReleaseRecord {
  readonly who: string;
  readonly node: string;
  readonly token: number;
  readonly success: boolean;
  readonly error: string;
  readonly fatal: boolean;
  readonly revision: number;
  readonly answer: ReleaseResult;
}

/** What an outside observer knows of one key. */
export class KeyHistory {
  holder: HolderRecord | undefined;
  /** In order of arrival. */
  queue: WaiterRecord[] = [];
  success: OutcomeRecord | undefined;
  failure: OutcomeRecord | undefined;
  /** Who was sent away and has not been told. */
  readonly pending = new Map<string, OutcomeRecord>();
  lastRelease: ReleaseRecord | undefined;

  waiter(who: string): WaiterRecord | undefined {
    return this.queue.find((waiter) => waiter.who === who);
  }

  get inServiceOrder(): WaiterRecord[] {
    return this.queue.toSorted((a, b) => a.lane - b.lane || moments(a.ticket, b.ticket));
  }

  place(who: string): number {
    return this.inServiceOrder.findIndex((waiter) => waiter.who === who) + 1;
  }

  leave(who: string): void {
    this.queue = this.queue.filter((waiter) => waiter.who !== who);
  }

  wroteWaiter(who: string, { touch, absent, leaseMs }: Acquire, revision: number): void {
    const waiter = this.waiter(who)!;
    const changed =
      (absent !== undefined && absent !== waiter.absent) ||
      (leaseMs !== undefined && leaseMs !== waiter.leaseMs);
    waiter.absent = absent ?? waiter.absent;
    waiter.leaseMs = leaseMs ?? waiter.leaseMs;
    if (touch || changed) waiter.renewed = revision;
  }
}

/** What an outside observer knows of a resource. */
export class ResourceHistory {
  readonly keys = new Map<string, KeyHistory>();
  readonly references = new Set<string>();
  lastMoment: Moment = { revision: 0, n: 0 };
  lastToken = 0;

  constructor(readonly policy: Policy) {}

  key(type: string): KeyHistory {
    const key = this.keys.get(type) ?? new KeyHistory();
    this.keys.set(type, key);
    return key;
  }

  get counts(): boolean {
    return this.policy.refcountMode === 'server';
  }

  get deleteHeld(): boolean {
    return this.keys.get('delete')?.holder !== undefined;
  }

  laneOf(subtype: string | undefined): number {
    const index = this.policy.lanes.indexOf(subtype ?? '');
    return index < 0 ? this.policy.lanes.length : index;
  }
}

/** The hold that stands in the way of a grant. */
export function holdOn(history: ResourceHistory, type: string): HolderRecord | undefined {
  if (history.policy.lockIsolation === 'operation') return history.key(type).holder;
  return [...history.keys.values()].find(({ holder }) => holder)?.holder;
}

/** Negative: the first is earlier. */
export function moments(a: Moment, b: Moment): number {
  return a.revision - b.revision || a.n - b.n;
}

export function nameOf({ nodeId, sessionId }: Asker): string {
  return sessionId === undefined ? nodeId : `${nodeId}/${sessionId}`;
}
