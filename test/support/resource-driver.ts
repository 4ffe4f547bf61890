import { type Asker } from '../../src/core/chunked-list.js';
import {
  type Acquire,
  type Claim,
  type Command,
  type Release,
  type Renew,
  type ResultOf,
  type Withdraw,
} from '../../src/core/commands.js';
import { type LockEvent } from '../../src/core/events.js';
import { checkState } from '../../src/core/invariants.js';
import { type Moment } from '../../src/core/moment.js';
import { type Policy } from '../../src/core/policy.js';
import { waiters } from '../../src/core/queue.js';
import { type AcquireResult, type RefusalCode, type Result } from '../../src/core/results.js';
import { settle, settleEvent, settleResult } from '../../src/core/settle.js';
import { EMPTY_STATE, type KeyState, keyOf, type ResourceState } from '../../src/core/state.js';
import { type Status, statusOf } from '../../src/core/status.js';
import { transition } from '../../src/core/transition.js';
import { deepFreeze } from './deep-freeze.js';
import { DEFAULT_POLICY } from './default-policy.js';

type Options<C extends Command> = Partial<Omit<C, 'kind' | 'type' | 'asker'>>;

/** An asker as `node` or `node/session`. */
export function asker(name: string): Asker {
  const [nodeId, sessionId] = name.split('/') as [string, string?];
  return { nodeId, sessionId };
}

/** Who it is, the other way round. */
export function nameOf({ nodeId, sessionId }: Asker): string {
  return sessionId === undefined ? nodeId : `${nodeId}/${sessionId}`;
}

export function resource(policy: Partial<Policy> = {}): ResourceDriver {
  return new ResourceDriver({ ...DEFAULT_POLICY, ...policy });
}

/** Commits commands to one resource as the manager does, each commit checked against the invariants. */
export class ResourceDriver {
  state: ResourceState = EMPTY_STATE;
  /** Of the last commit. */
  events: readonly LockEvent[] = [];
  nowMs = 1_000_000;
  revision = 100;

  constructor(
    readonly policy: Policy,
    private readonly checked = true,
  ) {}

  acquire(type: string, who: string, options: Options<Acquire> = {}): AcquireResult {
    return this.run({ kind: 'acquire', type, asker: asker(who), ...options });
  }

  /** Acquires and expects the lock. */
  grant(type: string, who: string, options: Options<Acquire> = {}): number {
    return expectKind('acquired', this.acquire(type, who, options)).token;
  }

  /** Acquires and expects to wait. */
  queue(type: string, who: string, options: Options<Acquire> = {}): Moment {
    return expectKind('queued', this.acquire(type, who, options)).ticket;
  }

  succeed(type: string, who: string, options: Options<Release> = {}): ResultOf<Release> {
    return this.run({
      kind: 'release',
      type,
      asker: asker(who),
      success: true,
      error: '',
      fatal: false,
      ...options,
    });
  }

  fail(type: string, who: string, options: Options<Release> = {}): ResultOf<Release> {
    return this.succeed(type, who, { success: false, error: 'broken', ...options });
  }

  failFatally(type: string, who: string, options: Options<Release> = {}): ResultOf<Release> {
    return this.fail(type, who, { error: 'not found', fatal: true, ...options });
  }

  renew(type: string, who: string, options: Options<Renew> = {}): ResultOf<Renew> {
    return this.run({ kind: 'renew', type, asker: asker(who), ...options });
  }

  claim(type: string, who: string, options: Options<Claim> = {}): boolean {
    return this.run({ kind: 'claim', type, asker: asker(who), ...options }).changed;
  }

  bind(type: string, who: string, at = ''): boolean {
    return this.run({ kind: 'bind', type, asker: asker(who), at }).changed;
  }

  spend(type: string, who: string, moment: Moment): boolean {
    return this.run({ kind: 'spend', type, asker: asker(who), moment }).changed;
  }

  withdraw(type: string, who: string, options: Options<Withdraw> = {}): boolean {
    return this.run({ kind: 'withdraw', type, asker: asker(who), error: 'cancelled', ...options }).changed;
  }

  endSession(type: string, who: string): boolean {
    return this.run({ kind: 'end-session', type, asker: asker(who), error: 'session over' }).changed;
  }

  expireHold(type: string, token: number, renewed: number): boolean {
    return this.run({ kind: 'expire-hold', type, token, renewed, error: 'expired' }).changed;
  }

  expireWaiter(type: string, who: string, ticket: Moment, renewed: number): boolean {
    return this.run({ kind: 'expire-waiter', type, asker: asker(who), ticket, renewed, error: 'silent' })
      .changed;
  }

  forceRelease(type: string, token: number): ResultOf<Command & { kind: 'force-release' }> {
    return this.run({ kind: 'force-release', type, token, reason: 'by hand' });
  }

  forget(type: string, upTo = this.revision): boolean {
    return this.run({ kind: 'forget', type, upTo }).changed;
  }

  refer(nodeId: string): ResultOf<Command & { kind: 'add-reference' }> {
    return this.run({ kind: 'add-reference', nodeId });
  }

  unrefer(nodeId: string): ResultOf<Command & { kind: 'release-reference' }> {
    return this.run({ kind: 'release-reference', nodeId });
  }

  run<C extends Command>(command: C): ResultOf<C> {
    return this.combine(command)[0] as ResultOf<C>;
  }

  /** Several commands in one commit. */
  combine(...commands: readonly Command[]): readonly Result[] {
    let state = deepFreeze(this.state);
    const events: LockEvent[] = [];
    const results: Result[] = [];
    for (const command of commands) {
      const step = transition(state, command, this.nowMs, this.policy);
      state = deepFreeze(step.state);
      events.push(...step.events);
      results.push(step.result);
    }
    this.revision += 10;
    this.state = state === this.state ? state : settle(state, this.revision);
    this.events = events.map((event) => settleEvent(event, this.revision));
    if (this.checked) checkState(this.state, this.policy);
    return results.map((result) => settleResult(result, this.revision));
  }

  status(type: string, who?: string, ticket?: Moment): Status {
    return statusOf(
      this.state,
      { type, asker: who === undefined ? undefined : asker(who), ticket },
      this.policy,
    );
  }

  key(type: string): KeyState {
    const key = keyOf(this.state, type);
    if (!key) throw new Error(`nothing is known of ${type}`);
    return key;
  }

  holder(type: string): string | undefined {
    const hold = keyOf(this.state, type)?.hold;
    return hold && nameOf(hold);
  }

  waiting(type: string): string[] {
    const key = keyOf(this.state, type);
    return key ? Array.from(waiters(key, this.policy), nameOf) : [];
  }

  dismissed(type: string): string[] {
    return Array.from(keyOf(this.state, type)?.dismissals ?? [], nameOf);
  }

  get references(): string[] {
    return Array.from(this.state.references, ({ nodeId }) => nodeId);
  }

  /** The last commit's events as `name type node`. */
  get told(): string[] {
    return this.events.map(({ name, type, nodeId }) => [name, type, nodeId].filter(Boolean).join(' '));
  }

  /** The same resource under another configuration; what is left of the old one may break the invariants of the new. */
  restarted(policy: Partial<Policy>): ResourceDriver {
    const next = new ResourceDriver({ ...this.policy, ...policy }, false);
    next.state = this.state;
    next.revision = this.revision;
    next.nowMs = this.nowMs;
    return next;
  }

  later(ms: number): this {
    this.nowMs += ms;
    return this;
  }
}

export function refusal(code: RefusalCode): object {
  return { kind: 'refused', code };
}

function expectKind<K extends AcquireResult['kind']>(
  kind: K,
  result: AcquireResult,
): Extract<AcquireResult, { kind: K }> {
  if (result.kind !== kind) throw new Error(`expected ${kind}, got ${JSON.stringify(result)}`);
  return result as Extract<AcquireResult, { kind: K }>;
}
