import assert from 'node:assert/strict';
import { type KeyState, type ResourceState } from '../../src/core/state.js';
import { KeyHistory, nameOf, type ResourceHistory } from './resource-history.js';

/** Nothing happened that was not seen, and nothing that was seen did not happen. */
export function assertSameAsHistory(history: ResourceHistory, state: ResourceState): void {
  assert.deepEqual(
    Array.from(state.references, ({ nodeId }) => nodeId),
    [...history.references],
    'references',
  );
  assert.equal(state.references.size, history.references.size, 'count = nodes');
  const types = new Set([...history.keys.keys(), ...state.keys.map(({ type }) => type)]);
  for (const type of types) {
    const key = state.keys.find((other) => other.type === type);
    assert.deepEqual(seen(key), expected(history.keys.get(type) ?? new KeyHistory()), type);
  }
}

function expected(key: KeyHistory) {
  return {
    holder: key.holder && [key.holder.who, key.holder.token, key.holder.renewed],
    queue: key.queue.map(({ who, ticket, renewed }) => [who, ticket, renewed]).sort(),
    success: key.success?.moment,
    failure: key.failure?.moment,
    pending: [...key.pending].map(([who, { moment, code }]) => [who, moment, code]),
    lastRelease: key.lastRelease && [key.lastRelease.who, key.lastRelease.token],
  };
}

function seen(key: KeyState | undefined): ReturnType<typeof expected> {
  return {
    holder: key?.hold && [nameOf(key.hold), key.hold.token, key.hold.renewed],
    queue: (key?.lanes ?? [])
      .flatMap(({ waiters }) => Array.from(waiters))
      .map((waiter) => [nameOf(waiter), waiter.ticket, waiter.renewed])
      .sort(),
    success: key?.success?.moment,
    failure: key?.failure?.moment,
    pending: Array.from(key?.dismissals ?? [], (dismissal) => [
      nameOf(dismissal),
      dismissal.outcome.moment,
      dismissal.outcome.code,
    ]),
    lastRelease: key?.lastRelease && [nameOf(key.lastRelease), key.lastRelease.token],
  };
}
