import { settleMoment, settleRevision, THIS_COMMIT } from './moment.js';
import { type Result } from './results.js';
import {
  type Hold,
  type KeyState,
  type LastRelease,
  NO_LANES,
  type ResourceState,
  settleOutcome,
} from './state.js';
import { type LockEvent } from './events.js';

/**
 * Puts the revision of a commit in the place of every `THIS_COMMIT` mark: in a state just committed, or just read
 * (an item's marks mean the item's own revision).
 */
export function settle(state: ResourceState, revision: number): ResourceState {
  return {
    keys: state.keys.map((key) => settleKey(key, revision)),
    references: state.references.settle(revision),
    nextChunkId: state.nextChunkId,
    pendingEvents: 0,
  };
}

function settleKey(key: KeyState, revision: number): KeyState {
  return {
    type: key.type,
    hold: key.hold && settleHold(key.hold, revision),
    lanes:
      key.lanes.length === 0
        ? NO_LANES
        : key.lanes.map((lane) => ({ name: lane.name, waiters: lane.waiters.settle(revision) })),
    success: key.success && settleOutcome(key.success, revision),
    failure: key.failure && settleOutcome(key.failure, revision),
    dismissals: key.dismissals.settle(revision),
    lastRelease: key.lastRelease && settleRelease(key.lastRelease, revision),
  };
}

function settleRelease(release: LastRelease, revision: number): LastRelease {
  return {
    nodeId: release.nodeId,
    sessionId: release.sessionId,
    moment: settleMoment(release.moment, revision),
    token: settleRevision(release.token, revision),
    success: release.success,
    error: release.error,
    fatal: release.fatal,
    nextHolder: release.nextHolder,
  };
}

function settleHold(hold: Hold, revision: number): Hold {
  if (hold.token !== THIS_COMMIT && hold.renewed !== THIS_COMMIT) return hold;
  return {
    ...hold,
    token: settleRevision(hold.token, revision),
    renewed: settleRevision(hold.renewed, revision),
    ticket: hold.ticket && settleMoment(hold.ticket, revision),
  };
}

export function settleResult(result: Result, revision: number): Result {
  switch (result.kind) {
    case 'acquired':
      return {
        kind: 'acquired',
        token: settleRevision(result.token, revision),
        leaseMs: result.leaseMs,
        referenceCount: result.referenceCount,
      };
    case 'queued':
      return {
        kind: 'queued',
        position: result.position,
        ticket: settleMoment(result.ticket, revision),
        referenceCount: result.referenceCount,
      };
    case 'renewed':
      return { kind: 'renewed', token: settleRevision(result.token, revision), leaseMs: result.leaseMs };
    default:
      return result;
  }
}

export function settleEvent(event: LockEvent, revision: number): LockEvent {
  return {
    name: event.name,
    moment: settleMoment(event.moment, revision),
    type: event.type,
    nodeId: event.nodeId,
    sessionId: event.sessionId,
    success: event.success,
    error: event.error,
    token: event.token === undefined ? undefined : settleRevision(event.token, revision),
    atMs: event.atMs,
    sinceMs: event.sinceMs,
    dismissed: event.dismissed,
    referenceCount: event.referenceCount,
    observersOnly: event.observersOnly,
  };
}
