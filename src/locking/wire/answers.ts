import { type Moment } from '../../core/moment.js';
import { type Policy } from '../../core/policy.js';
import {
  type AcquireResult,
  type Refused,
  type ReleaseResult,
  type RenewResult,
} from '../../core/results.js';
import { type Status } from '../../core/status.js';
import { formatTicket } from '../../core/ticket.js';
import { type KeyName } from './key-name.js';

type Acquired = Exclude<AcquireResult, Refused>;

export function lockAnswer(result: Acquired, key: KeyName, nodeId: string, policy: Policy) {
  const isolation = policy.lockIsolation;
  const reference_count = result.referenceCount;
  switch (result.kind) {
    case 'acquired': {
      const { token, leaseMs: lease_ms } = result;
      return {
        acquired: true,
        skip: false,
        message: 'lock acquired',
        isolation,
        token,
        lease_ms,
        reference_count,
      };
    }
    case 'skipped':
      return {
        acquired: false,
        skip: true,
        message: `already done by ${result.nodeId}: skip it`,
        isolation,
        reference_count,
      };
    case 'queued':
      return {
        acquired: false,
        skip: false,
        message: `queued at position ${result.position}`,
        isolation,
        position: result.position,
        ticket: ticketOf(result.ticket, key, nodeId),
        reference_count,
      };
  }
}

/** A wait that ended without an outcome: cancelled, or lost. */
export function lostAnswer(policy: Policy, referenceCount: number | null) {
  return {
    acquired: false,
    skip: false,
    message: 'no longer queued: ask again',
    isolation: policy.lockIsolation,
    reference_count: referenceCount,
  };
}

export function ticketOf(moment: Moment, { type, resourceId }: KeyName, nodeId: string): string {
  return formatTicket(moment, type, resourceId, nodeId);
}

export function unlockAnswer({ nextHolder }: Exclude<ReleaseResult, Refused>) {
  return nextHolder === undefined
    ? { released: true, message: 'lock released' }
    : { released: true, message: `lock released and handed to ${nextHolder}`, next_holder: nextHolder };
}

export function renewAnswer({ token, leaseMs }: Exclude<RenewResult, Refused>) {
  return { renewed: true, token, lease_ms: leaseMs };
}

export function statusAnswer(status: Status) {
  const { holder } = status;
  return {
    acquired: status.acquired,
    completed: status.completed,
    success: status.success,
    ...(status.error !== '' && { error: status.error }),
    ...(status.completedAtMs !== undefined && { completed_at: isoTime(status.completedAtMs) }),
    held: holder !== undefined,
    ...(holder && {
      holder: {
        node_id: holder.nodeId,
        ...(holder.subtype !== undefined && { subtype: holder.subtype }),
        requested_at: isoTime(holder.requestedAtMs),
        acquired_at: isoTime(holder.acquiredAtMs),
        token: holder.token,
      },
    }),
    ...(status.position > 0 && { position: status.position }),
    queue_length: status.queueLength,
    reference_count: status.referenceCount,
  };
}

/** RFC 3339. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
