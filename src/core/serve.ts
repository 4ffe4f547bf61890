import { remember, dismissQueue } from './dismiss.js';
import { grant, leaseOf } from './grant.js';
import { blockingHold, judge, type Verdict } from './judge.js';
import { earliestHead, head } from './queue.js';
import { type KeyState, type Outcome, type Waiter } from './state.js';
import { type Step } from './step.js';

interface Candidate {
  readonly key: KeyState;
  readonly waiter: Waiter;
}

/**
 * Gives a lock that has become free to the next in line. Each waiter is judged again at this moment; the step goes on
 * until one is granted or none is left. Returns the new holder's node.
 */
export function serve(step: Step, type: string): string | undefined {
  let candidate = nextCandidate(step, type);
  while (candidate) {
    const { key, waiter } = candidate;
    const verdict = judgeWaiter(step, candidate);
    if (verdict.kind === 'proceed') {
      handOver(step, candidate);
      return waiter.nodeId;
    }
    if (verdict.kind === 'refuse') refuseQueue(step, key, waiter, verdict);
    else skipRun(step, candidate, verdict);
    candidate = nextCandidate(step, type);
  }
  return undefined;
}

function nextCandidate(step: Step, type: string): Candidate | undefined {
  const { state, policy } = step;
  if (blockingHold(state, type, policy)) return undefined;
  if (policy.lockIsolation === 'resource') return earliestHead(state, policy);
  const key = step.key(type);
  const waiter = head(key, policy);
  return waiter && { key, waiter };
}

function judgeWaiter(step: Step, { key, waiter }: Candidate): Verdict {
  const question = { absent: waiter.absent, ticket: waiter.ticket, dismissal: undefined };
  return judge(step.state, key, question, step.nowMs, step.policy);
}

function handOver(step: Step, { key, waiter }: Candidate): void {
  const left = step.removeWaiter(key, waiter);
  const leaseMs = leaseOf(waiter, waiter.leaseMs, step.policy);
  grant(step, left, { ...waiter, leaseMs, claimed: false });
}

/** What one delete (or update) is refused for, all behind it would be refused for too. */
function refuseQueue(step: Step, key: KeyState, waiter: Waiter, verdict: Verdict & { kind: 'refuse' }): void {
  const outcome: Outcome = {
    moment: step.moment,
    success: false,
    code: 'RESOURCE_IN_USE',
    error: verdict.error,
    nodeId: waiter.nodeId,
    token: undefined,
    atMs: step.nowMs,
  };
  const dismissed = dismissQueue(step, key, outcome);
  step.putKey({ ...step.key(key.type), failure: outcome });
  const event = step.emit('failed', key.type, { nodeId: waiter.nodeId });
  event.error = outcome.error;
  event.dismissed = dismissed;
}

/** Skips this waiter and those directly behind it that are skipped too: one event for all of them. */
function skipRun(step: Step, first: Candidate, verdict: Verdict & { kind: 'skip' }): void {
  const { type } = first.key;
  const skipped: Waiter[] = [];
  let candidate: Candidate | undefined = first;
  while (candidate?.key.type === type && judgeWaiter(step, candidate).kind === 'skip') {
    step.removeWaiter(candidate.key, candidate.waiter);
    skipped.push(candidate.waiter);
    candidate = nextCandidate(step, type);
  }
  const outcome: Outcome = {
    moment: step.moment,
    success: true,
    code: undefined,
    error: '',
    nodeId: verdict.nodeId,
    token: undefined,
    atMs: verdict.atMs ?? step.nowMs,
  };
  remember(step, step.key(type), skipped, outcome);
  const event = step.emit('completed', type, { nodeId: verdict.nodeId });
  event.success = true;
  event.atMs = outcome.atMs;
  event.dismissed = skipped.length;
}
