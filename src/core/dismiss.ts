import { MAX_DISMISSALS } from './limits.js';
import { waiters } from './queue.js';
import { referenceEffect } from './reference-rules.js';
import { type KeyState, type Outcome, type Reference, type Waiter } from './state.js';
import { type Step } from './step.js';

/** Sends the whole queue of a key away with one outcome. */
export function dismissQueue(step: Step, key: KeyState, outcome: Outcome): number {
  if (key.lanes.length === 0) return 0;
  const dismissed = [...waiters(key, step.policy)];
  remember(step, step.put({ ...key, lanes: [] }), dismissed, outcome);
  return dismissed.length;
}

/** Records who was sent away, after they have left the queue; a skipped pull makes its node a reference. */
export function remember(step: Step, key: KeyState, dismissed: readonly Waiter[], outcome: Outcome): void {
  const entries = dismissed.map(({ nodeId, sessionId }) => ({ nodeId, sessionId, outcome }));
  const dismissals = key.dismissals.appendAll(entries, step.newChunkId);
  const tooMany = dismissals.size - MAX_DISMISSALS;
  const oldest = new Set(tooMany > 0 ? [...dismissals].slice(0, tooMany) : []);
  step.putKey({ ...key, dismissals: dismissals.dropWhile((dismissal) => oldest.has(dismissal)) });
  if (outcome.success && referenceEffect(key.type) === 'add-node') refer(step, dismissed);
}

/** Makes these nodes references, each once. Returns how many were new. */
export function refer(step: Step, nodes: readonly { readonly nodeId: string }[]): number {
  if (step.policy.refcountMode === 'client') return 0;
  const { references } = step.state;
  const only = nodes.length === 1 ? nodes[0] : undefined;
  if (only && references.has({ nodeId: only.nodeId })) return 0;
  const known = only ? undefined : new Set(Array.from(references, (reference) => reference.nodeId));
  const fresh: Reference[] = [];
  for (const { nodeId } of nodes) {
    if (known?.has(nodeId)) continue;
    known?.add(nodeId);
    fresh.push({ nodeId, sinceMs: step.nowMs });
  }
  const extended = references.appendAll(fresh, step.newChunkId);
  if (extended !== references) step.putReferences(extended);
  return fresh.length;
}
