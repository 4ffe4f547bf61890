import { sameAsker } from '../core/chunked-list.js';
import { type Acquire, type Command } from '../core/commands.js';
import { type Moment, sameMoment } from '../core/moment.js';
import { type AcquireResult, type RefusalCode } from '../core/results.js';
import { type Dismissal, findWaiter, type Hold, keyOf, type ResourceState } from '../core/state.js';

/** What is told to someone who waited. `lost`: over without an outcome. */
export type WaitResult = AcquireResult | { readonly kind: 'lost' };

/** An answer, and what follows when it has reached its asker or could not. */
export interface Delivery {
  readonly result: WaitResult;
  readonly delivered?: Command;
  readonly undelivered?: Command;
}

/** How the wait with this ticket has ended, if it has. */
export function waitEnd(
  state: ResourceState | undefined,
  { type, asker, at }: Acquire,
  ticket: Moment,
  referenceCount: number | null,
): Delivery | undefined {
  const key = state && keyOf(state, type);
  const waiter = key && findWaiter(key, asker);
  if (waiter && sameMoment(waiter.ticket, ticket)) return undefined;
  const hold = key?.hold;
  if (hold?.ticket && sameAsker(hold, asker) && sameMoment(hold.ticket, ticket)) {
    return handedOver(hold, type, at, referenceCount);
  }
  const dismissal = key?.dismissals.find(asker);
  return dismissal ? dismissed(dismissal, type, referenceCount) : { result: { kind: 'lost' } };
}

function handedOver(
  hold: Hold,
  type: string,
  polledAt: string | undefined,
  referenceCount: number | null,
): Delivery {
  const { token, leaseMs, ticket } = hold;
  const asker = { nodeId: hold.nodeId, sessionId: hold.sessionId };
  return {
    result: { kind: 'acquired', token, leaseMs, referenceCount },
    delivered: { kind: 'claim', type, asker },
    undelivered: { kind: 'withdraw', type, asker, ticket, polledAt, error: UNDELIVERED },
  };
}

function dismissed(
  { nodeId, sessionId, outcome }: Dismissal,
  type: string,
  referenceCount: number | null,
): Delivery {
  const { code, error, moment, atMs } = outcome;
  return {
    result: code
      ? { kind: 'refused', code, error }
      : { kind: 'skipped', nodeId: outcome.nodeId, atMs, wasDismissed: true, referenceCount },
    delivered: { kind: 'spend', type, asker: { nodeId, sessionId }, moment },
  };
}

/** An answer given at once. A hold granted just now was last renewed by its own grant; a later renewal keeps it. */
export function atOnce(
  result: AcquireResult,
  state: ResourceState | undefined,
  { type, asker }: Acquire,
): Delivery {
  if (result.kind === 'acquired') {
    const { token } = result;
    return { result, undelivered: { kind: 'expire-hold', type, token, renewed: token, error: UNDELIVERED } };
  }
  const dismissal = state && keyOf(state, type)?.dismissals.find(asker);
  const told = result.kind === 'skipped' || (result.kind === 'refused' && TELLS_A_DISMISSAL.has(result.code));
  if (!dismissal || !told) return { result };
  return { result, delivered: { kind: 'spend', type, asker, moment: dismissal.outcome.moment } };
}

/** The codes of steps 3 and 4 of the design: whoever is refused so has been told what there was to tell. */
const TELLS_A_DISMISSAL: ReadonlySet<RefusalCode> = new Set(['OPERATION_FAILED', 'RESOURCE_IN_USE']);

const UNDELIVERED = 'the connection was lost before the answer arrived';
