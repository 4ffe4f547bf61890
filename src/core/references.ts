import { refused } from './acquire.js';
import { type AddReference, type ReleaseReference } from './commands.js';
import { refer } from './dismiss.js';
import { isDeleteHeld } from './judge.js';
import { type ReferenceResult, type Refused } from './results.js';
import { type Step } from './step.js';

/** A pull that only ever skips: refused while the bytes may be going. */
export function addReference(step: Step, { nodeId }: AddReference): ReferenceResult {
  if (step.policy.refcountMode === 'client') return disabled();
  if (isDeleteHeld(step.state)) return refused('LOCK_HELD', 'the resource is being deleted');
  if (refer(step, [{ nodeId }]) > 0) step.emit('referenced', '', { nodeId });
  return { kind: 'counted', count: step.state.references.size };
}

export function releaseReference(step: Step, { nodeId }: ReleaseReference): ReferenceResult {
  if (step.policy.refcountMode === 'client') return disabled();
  const { references } = step.state;
  if (references.has({ nodeId })) {
    step.putReferences(references.remove({ nodeId }));
    step.emit('unreferenced', '', { nodeId });
  }
  return { kind: 'counted', count: step.state.references.size };
}

function disabled(): Refused {
  return refused('REFCOUNT_DISABLED', 'references are counted by the clients (REFCOUNT_MODE=client)');
}
