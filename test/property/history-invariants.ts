import assert from 'node:assert/strict';
import { type Acquire, type Command, type Release } from '../../src/core/commands.js';
import { type EventName, type LockEvent } from '../../src/core/events.js';
import { type Moment } from '../../src/core/moment.js';
import { type Policy } from '../../src/core/policy.js';
import { type AcquireResult, type ReleaseResult, type Result } from '../../src/core/results.js';
import { type ResourceState } from '../../src/core/state.js';
import { assertSameAsHistory } from './history-comparison.js';
import { follow } from './history-events.js';
import { expectedRefusal, isRepetition, reasonToTurnAway } from './history-rules.js';
import { holdOn, KeyHistory, moments, nameOf, ResourceHistory } from './resource-history.js';

/** One command with its answer and its events, after the commit has settled them. */
export interface Seen {
  readonly command: Command;
  readonly result: Result;
  readonly events: readonly LockEvent[];
  readonly nowMs: number;
}

/**
 * Watches a resource from outside and keeps its own simple history of who held, waited, was told and is counted. It
 * believes the events and answers, asserts that each of them was allowed by what had happened before (the design), and
 * after every commit that the state says the same as the history.
 */
export class HistoryObserver {
  private readonly history: ResourceHistory;

  constructor(policy: Policy) {
    this.history = new ResourceHistory(policy);
  }

  observeCommit(steps: readonly Seen[], revision: number, state: ResourceState): void {
    for (const step of steps) this.observe(step, revision);
    assertSameAsHistory(this.history, state);
  }

  private observe(step: Seen, revision: number): void {
    const { command, result } = step;
    switch (command.kind) {
      case 'acquire':
        return this.acquire(command, result as AcquireResult, step, revision);
      case 'release':
        return this.release(command, result as ReleaseResult, step, revision);
      case 'renew':
        return this.renew(command, result, step, revision);
      case 'claim':
        return this.claim(command, result, step, revision);
      case 'touch': {
        const waiter = this.history.key(command.type).waiter(nameOf(command.asker));
        const changed = waiter !== undefined;
        assert.deepEqual(result, { kind: 'noted', changed }, 'a touch writes who waits, and nobody else');
        if (waiter) waiter.renewed = revision;
        return this.follow(step, 'nothing');
      }
      case 'spend': {
        const { pending } = this.history.key(command.type);
        const known = pending.get(nameOf(command.asker))?.moment;
        const changed = known !== undefined && moments(known, command.moment) === 0;
        assert.deepEqual(
          result,
          { kind: 'noted', changed },
          'a delivery spends exactly the dismissal it names',
        );
        if (changed) pending.delete(nameOf(command.asker));
        return;
      }
      case 'forget':
        return forget(this.history.key(command.type), command.upTo);
      case 'force-release': {
        const key = this.history.key(command.type);
        const { holder } = key;
        this.follow(step);
        if (result.kind !== 'released') return;
        const error = `released by force: ${command.reason}`;
        key.lastRelease = { ...holder!, success: false, error, fatal: false, revision, answer: result };
        return;
      }
      case 'expire-hold': {
        const { holder } = this.history.key(command.type);
        const due = holder?.token === command.token && holder.renewed === command.renewed;
        assert.deepEqual(result, { kind: 'noted', changed: due }, 'an expiry is void after a later renewal');
        return this.follow(step, due ? 'expired' : 'nothing');
      }
      case 'expire-waiter': {
        const waiter = this.history.key(command.type).waiter(nameOf(command.asker));
        const due =
          waiter !== undefined &&
          moments(waiter.ticket, command.ticket) === 0 &&
          waiter.renewed === command.renewed;
        assert.deepEqual(result, { kind: 'noted', changed: due }, 'a waiter written again is not dropped');
        return this.follow(step, due ? 'withdrawn' : 'nothing');
      }
      case 'end-session':
      case 'withdraw': {
        const key = this.history.key(command.type);
        const who = nameOf(command.asker);
        this.follow(step);
        if (command.kind === 'end-session' || !command.ticket) {
          assert(!key.waiter(who), 'who withdraws does not wait any more');
        }
        if (command.kind === 'end-session') assert(key.holder?.who !== who, 'an ended session holds nothing');
        return;
      }
      default:
        return this.follow(step);
    }
  }

  /** the design */
  private acquire(command: Acquire, result: AcquireResult, step: Seen, revision: number): void {
    const { history } = this;
    const key = history.key(command.type);
    const who = nameOf(command.asker);
    const held = key.holder?.who === who ? key.holder.token : undefined;
    const ticket = key.waiter(who)?.ticket;
    const blocked = holdOn(history, command.type) !== undefined;
    const reason = reasonToTurnAway(history, command, step.nowMs);
    const hadNews = key.pending.has(who);
    this.follow(step);

    if (command.sessionEnded) {
      assert.equal(refusalOf(result), 'SESSION_NOT_FOUND');
      return;
    }
    if (held !== undefined) {
      assert(
        result.kind === 'acquired' && result.token === held,
        'the holder asks again and keeps its token',
      );
      key.holder!.renewed = revision;
      return;
    }
    switch (result.kind) {
      case 'acquired':
        assert(!reason, `granted in spite of: ${reason}`);
        assert(!blocked, 'granted beside a hold');
        assert.equal(key.holder?.who, who);
        assert.equal(key.holder?.token, result.token);
        if (hadNews) key.pending.delete(who);
        return;
      case 'queued':
        assert(!reason, `queued in spite of: ${reason}`);
        assert(blocked, 'acquired:false on a free key');
        assert(!ticket || moments(ticket, result.ticket) === 0, 'asking again keeps the place');
        assert.equal(key.place(who), result.position, 'the position is the place in the order of service');
        if (hadNews) key.pending.delete(who);
        key.wroteWaiter(who, command, revision);
        return;
      case 'skipped':
        assert.equal(reason, 'skip', 'skipped without a reason');
        assert(!key.waiter(who), 'a skip takes the asker out of the queue');
        if (command.type === 'pull' && history.counts) {
          assert(history.references.has(command.asker.nodeId), 'a skipped pull is a reference');
        }
        if (!command.deliveredLater) key.pending.delete(who);
        return;
      case 'refused':
        if (result.code === 'LOCK_HELD' || result.code === 'QUEUE_FULL') {
          assert(blocked && !ticket && !reason, `${result.code} to somebody who could be told more`);
          return;
        }
        assert.equal(result.code, reason, 'refused without that reason');
        assert(!key.waiter(who), 'a refusal takes the asker out of the queue');
        if (!command.deliveredLater) key.pending.delete(who);
    }
  }

  /** the design */
  private release(command: Release, result: ReleaseResult, step: Seen, revision: number): void {
    const key = this.history.key(command.type);
    if (isRepetition(key, command)) {
      assert.deepEqual(result, key.lastRelease!.answer, 'a repeated unlock gets the same answer');
      this.follow(step, 'nothing');
      return;
    }
    const refusal = expectedRefusal(key, command);
    assert.equal(refusalOf(result), refusal);
    if (refusal) return this.follow(step, 'nothing');
    const { holder } = key;
    this.follow(step, command.success ? 'completed' : command.fatal ? 'failed' : 'released');
    assert.equal(step.events[0]!.nodeId, holder!.node, 'the event names the worker');
    const assigned = step.events.find(({ name }) => name === 'assigned');
    assert.deepEqual(result, { kind: 'released', nextHolder: assigned?.nodeId });
    const { success, error, fatal } = command;
    key.lastRelease = { ...holder!, success, error, fatal, revision, answer: result };
  }

  private renew(command: Command & { kind: 'renew' }, result: Result, step: Seen, revision: number): void {
    const key = this.history.key(command.type);
    this.follow(step, 'nothing');
    const refusal = expectedRefusal(key, command);
    assert.equal(refusalOf(result), refusal);
    if (refusal) return;
    assert(result.kind === 'renewed' && result.token === key.holder!.token, 'a renewal keeps the token');
    key.holder!.renewed = revision;
  }

  private claim(command: Command & { kind: 'claim' }, result: Result, step: Seen, revision: number): void {
    const key = this.history.key(command.type);
    const who = nameOf(command.asker);
    this.follow(step, 'nothing');
    assert(result.kind === 'noted');
    if (!result.changed) return;
    if (key.holder?.who === who) key.holder.renewed = revision;
    else key.waiter(who)!.renewed = revision;
  }

  private follow({ events, command }: Seen, first?: EventName | 'nothing'): void {
    if (first) assert.equal(events[0]?.name ?? 'nothing', first, 'what happens first is what was asked for');
    for (const event of events) follow(this.history, event, command);
  }
}

function refusalOf(result: Result): string | undefined {
  return result.kind === 'refused' ? result.code : undefined;
}

function forget(key: KeyHistory, upTo: number): void {
  const isOld = (memory: { moment: Moment } | undefined) => memory && memory.moment.revision <= upTo;
  if (isOld(key.success)) key.success = undefined;
  if (isOld(key.failure)) key.failure = undefined;
  if (key.lastRelease && key.lastRelease.revision <= upTo) key.lastRelease = undefined;
  for (const [who, dismissal] of key.pending) if (isOld(dismissal)) key.pending.delete(who);
}
