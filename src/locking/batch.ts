import { type Command } from '../core/commands.js';
import { type LockEvent } from '../core/events.js';
import { THIS_COMMIT } from '../core/moment.js';
import { type Policy } from '../core/policy.js';
import { type Result } from '../core/results.js';
import { type ResourceState } from '../core/state.js';
import { jsonBytes } from '../core/text.js';
import { transition } from '../core/transition.js';

/** Commands for one resource that travel to the store as one commit. */
export interface Batch {
  readonly state: ResourceState;
  readonly events: readonly LockEvent[];
  /** One per command taken, in order. */
  readonly results: readonly Result[];
}

/** Commands in order, each made when its turn comes: most of a long list go with later commits. */
export interface CommandList {
  readonly length: number;
  at(index: number): Command | undefined;
}

/** The events of a commit are stored with it; beyond this, commands wait for the next commit. */
const MAX_EVENT_BYTES = 24 * 1024;

/** Numbers and punctuation of a stored event. */
const EVENT_OVERHEAD_BYTES = 160;

/**
 * Applies as many of the commands as one commit can carry; the rest goes with the next. A token is the revision of its commit,
 * so combining stops before a second grant. It also stops before a renewal of what it grants: an expiry names the commit of the
 * last renewal, and could not tell the two apart.
 */
export function combine(state: ResourceState, commands: CommandList, nowMs: number, policy: Policy): Batch {
  const events: LockEvent[] = [];
  const results: Result[] = [];
  let granted = false;
  let bytes = 0;
  for (let i = 0; i < commands.length; i++) {
    const next = transition(state, commands.at(i)!, nowMs, policy);
    const grants = next.events.some(isGrant);
    if (granted && (grants || isOfThisCommit(next.result))) break;
    granted ||= grants;
    state = next.state;
    results.push(next.result);
    for (const event of next.events) {
      events.push(event);
      bytes += jsonBytes(event.nodeId) + jsonBytes(event.error) + EVENT_OVERHEAD_BYTES;
    }
    if (bytes > MAX_EVENT_BYTES) break;
  }
  return { state, events, results };
}

/** A hold granted in the commit being built. */
function isOfThisCommit(result: Result): boolean {
  return (result.kind === 'acquired' || result.kind === 'renewed') && result.token === THIS_COMMIT;
}

function isGrant(event: LockEvent): boolean {
  return event.name === 'granted' || event.name === 'assigned';
}
