import { type Acquire, type Release, type Renew } from '../../src/core/commands.js';
import { type RefusalCode } from '../../src/core/results.js';
import { type KeyHistory, moments, nameOf, type ResourceHistory } from './resource-history.js';

/** Why a request that is not the holder's may not go on: steps 3 and 4 of the design */
export function reasonToTurnAway(
  history: ResourceHistory,
  { type, asker, ticket, absent }: Acquire,
  nowMs: number,
): string | undefined {
  const key = history.key(type);
  const { policy } = history;
  const looked = type === 'pull' && (absent ?? key.waiter(nameOf(asker))?.absent ?? false);
  const mayBeSkipped = type === 'delete' || !history.deleteHeld;
  const inUse = history.counts && history.references.size > 0;
  if (inUse && (type === 'delete' || (type === 'update' && policy.updateRequiresNoRef)))
    return 'RESOURCE_IN_USE';
  if (inUse && type === 'pull' && !looked && mayBeSkipped) return 'skip';
  if (key.success && mayBeSkipped) {
    if (ticket && moments(key.success.moment, ticket) > 0) return 'skip';
    const recent = nowMs - key.success.atMs < policy.completedSkipMs;
    if (policy.completedSkipMs > 0 && recent && !looked) return 'skip';
  }
  const dismissal = looked ? undefined : key.pending.get(nameOf(asker));
  return dismissal && (dismissal.code ?? 'skip');
}

/** Why an unlock or a renewal that is no repetition is refused: the design */
export function expectedRefusal(
  { holder }: KeyHistory,
  { asker, token, sessionEnded }: Release | Renew,
): RefusalCode | undefined {
  if (sessionEnded) return 'SESSION_NOT_FOUND';
  if (!holder) return 'LOCK_NOT_FOUND';
  if (holder.node !== asker.nodeId) return 'NOT_HOLDER';
  if (token === undefined) return holder.who === nameOf(asker) ? undefined : 'NOT_HOLDER';
  return token === holder.token ? undefined : 'STALE_TOKEN';
}

export function isRepetition({ lastRelease: last, holder }: KeyHistory, command: Release): boolean {
  if (!last || holder?.who === last.who) return false;
  if (last.success !== command.success || last.error !== command.error || last.fatal !== command.fatal) {
    return false;
  }
  if (command.token === undefined) return last.who === nameOf(command.asker);
  return last.node === command.asker.nodeId && last.token === command.token;
}
