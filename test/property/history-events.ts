import assert from 'node:assert/strict';
import { type Acquire, type Command } from '../../src/core/commands.js';
import { type LockEvent } from '../../src/core/events.js';
import {
  holdOn,
  type KeyHistory,
  moments,
  nameOf,
  type OutcomeRecord,
  type ResourceHistory,
  type WaiterRecord,
} from './resource-history.js';

/** Takes an event into the history, after asserting that it could happen now. */
export function follow(history: ResourceHistory, event: LockEvent, command: Command): void {
  assert(moments(event.moment, history.lastMoment) > 0, 'the moments of events strictly grow');
  history.lastMoment = event.moment;
  apply(history, event, command);
  assert.equal(event.referenceCount, history.counts ? history.references.size : null, 'count = nodes');
}

function apply(history: ResourceHistory, event: LockEvent, command: Command): void {
  const who = nameOf(event);
  switch (event.name) {
    case 'queued':
      assert(command.kind === 'acquire', 'only who asks is queued');
      return queue(history, event, command);
    case 'granted':
      assert(!history.key(event.type).waiter(who), 'who waits is handed the lock, not granted it');
      return hold(history, event);
    case 'assigned':
      assert.equal(who, earliestEligible(history, event.type)?.who, 'first come, first served');
      history.key(event.type).leave(who);
      return hold(history, event);
    case 'completed':
      return event.token === undefined ? skipped(history, event) : succeeded(history, event);
    case 'failed':
      return failed(history, event);
    case 'released':
    case 'expired':
      assert(event.observersOnly, 'a plain failure is announced to waiters by the next hand-over');
      return endRun(history.key(event.type), event);
    case 'withdrawn':
      assert(history.key(event.type).waiter(who), 'only who waits can withdraw');
      return history.key(event.type).leave(who);
    case 'referenced':
      assert(!history.references.has(event.nodeId), 'a node is counted once');
      history.references.add(event.nodeId);
      return;
    case 'unreferenced':
      assert(history.references.delete(event.nodeId), 'only a reference can be released');
  }
}

function queue(history: ResourceHistory, event: LockEvent, request: Acquire): void {
  const key = history.key(event.type);
  const who = nameOf(event);
  assert(holdOn(history, event.type), 'nobody queues for a free key');
  assert(history.policy.allowMultiNodeDownload, 'nobody queues where a held key refuses');
  assert(!key.waiter(who), 'an asker waits at most once per queue');
  key.queue.push({
    who,
    node: event.nodeId,
    ticket: event.moment,
    lane: history.laneOf(request.subtype),
    absent: request.absent ?? false,
    leaseMs: request.leaseMs,
    renewed: event.moment.revision,
  });
}

function hold(history: ResourceHistory, { type, nodeId, sessionId, token, moment }: LockEvent): void {
  assert(!holdOn(history, type), 'at most one holder');
  assert(token !== undefined && token > history.lastToken, 'tokens only grow, so none is granted twice');
  assert.equal(token, moment.revision, 'a token is the revision of its commit');
  history.lastToken = token;
  const key = history.key(type);
  const who = nameOf({ nodeId, sessionId });
  key.holder = { who, node: nodeId, token, renewed: token };
  if (key.lastRelease?.who === who) key.lastRelease = undefined;
  voidOpposed(history, type);
}

/** A kept success never speaks of a resource that is gone. */
function voidOpposed(history: ResourceHistory, type: string): void {
  for (const [other, key] of history.keys) {
    if ((type === 'delete') === (other === 'delete')) continue;
    key.success = undefined;
    for (const [who, { code }] of key.pending) if (code === undefined) key.pending.delete(who);
  }
}

function earliestEligible(history: ResourceHistory, type: string): WaiterRecord | undefined {
  if (history.policy.lockIsolation === 'operation') return history.key(type).inServiceOrder[0];
  const heads = [...history.keys.values()].flatMap((key) => key.inServiceOrder.slice(0, 1));
  return heads.toSorted((a, b) => moments(a.ticket, b.ticket))[0];
}

function endRun(key: KeyHistory, event: LockEvent): void {
  assert.equal(key.holder?.who, nameOf(event), 'only a holder’s run can end');
  assert.equal(key.holder?.token, event.token);
  key.holder = undefined;
}

function succeeded(history: ResourceHistory, event: LockEvent): void {
  const key = history.key(event.type);
  assert(event.success);
  endRun(key, event);
  if (event.type === 'pull' && history.counts) history.references.add(event.nodeId);
  if (event.type === 'delete') history.references.clear();
  const unrecorded =
    history.policy.successPolicy === 'handover' || (event.type !== 'delete' && history.deleteHeld);
  assert.equal(event.observersOnly, unrecorded, 'waiters hear of a success exactly if it is theirs too');
  key.failure = undefined;
  if (!unrecorded) {
    key.success = { moment: event.moment, atMs: event.atMs, code: undefined };
    dismiss(history, key, event, key.inServiceOrder, key.success);
  }
}

/** Waiting pulls that met references. */
function skipped(history: ResourceHistory, event: LockEvent): void {
  const key = history.key(event.type);
  assert(event.success && event.dismissed > 0 && !event.observersOnly);
  assert(!holdOn(history, event.type), 'waiters are judged when the lock is free');
  assert(event.type === 'delete' || !history.deleteHeld, 'only a delete is skipped beside a held delete');
  if (event.type === 'pull' && history.counts && history.references.size > 0) {
    assert.equal(event.nodeId, [...history.references][0], 'the earliest reference speaks');
  } else assert(key.success && history.policy.completedSkipMs > 0, 'waiters are skipped for a reason');
  const outcome = { moment: event.moment, atMs: event.atMs, code: undefined };
  const first = key.inServiceOrder.slice(0, event.dismissed);
  assert(
    !first.some((waiter) => event.type === 'pull' && waiter.absent),
    'who did not find the bytes is not skipped',
  );
  dismiss(history, key, event, first, outcome);
}

function failed(history: ResourceHistory, event: LockEvent): void {
  const key = history.key(event.type);
  assert(!event.success && !event.observersOnly);
  const refusal = event.token === undefined;
  if (refusal) {
    assert(history.references.size > 0, 'a queue is refused only because of references');
    assert.equal(event.nodeId, key.inServiceOrder[0]?.node, 'a refusal names the head of the queue');
  } else endRun(key, event);
  key.failure = {
    moment: event.moment,
    atMs: event.atMs,
    code: refusal ? 'RESOURCE_IN_USE' : 'OPERATION_FAILED',
  };
  dismiss(history, key, event, key.inServiceOrder, key.failure);
}

function dismiss(
  history: ResourceHistory,
  key: KeyHistory,
  event: LockEvent,
  waiters: readonly WaiterRecord[],
  outcome: OutcomeRecord,
): void {
  assert.equal(event.dismissed, waiters.length, 'an event says how many it dismissed');
  for (const { who, node } of waiters) {
    assert(!key.pending.has(who), 'nobody has two things to be told');
    key.leave(who);
    key.pending.set(who, outcome);
    if (event.type === 'pull' && event.success && history.counts) history.references.add(node);
  }
}
