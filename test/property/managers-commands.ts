import fc from 'fast-check';
import { type Asker, sameAsker } from '../../src/core/chunked-list.js';
import { type Command } from '../../src/core/commands.js';
import { keyOf, type ResourceState } from '../../src/core/state.js';
import { type LockPolicy } from '../../src/locking/lock-policy.js';
import { DEFAULT_LOCK_POLICY } from '../support/lock-managers.js';
import { type Names } from './managers-names.js';

/** A command before it is known which numbers a system uses for its tokens and tickets. */
export interface Intent {
  readonly resourceId: string;
  readonly kind: Exclude<Command['kind'], 'expire-hold' | 'expire-waiter' | 'forget'>;
  readonly type: string;
  readonly asker: Asker;
  /** By someone it applies to (who holds, waits or was dismissed), if there is anybody. */
  readonly aimed: boolean;
  /** How many tokens or tickets back; `undefined`: none is given. */
  readonly back: number | undefined;
  readonly absent: boolean | undefined;
  readonly leaseMs: number | undefined;
  readonly subtype: string | undefined;
  readonly deliveredLater: boolean;
  readonly outcome: (typeof OUTCOMES)[number];
}

const OUTCOMES = [
  { success: true, error: '', fatal: false },
  { success: false, error: 'boom', fatal: false },
  { success: false, error: 'not found', fatal: true },
] as const;

const KINDS: Intent['kind'][] = [
  ...Array<'acquire'>(12).fill('acquire'),
  ...Array<'release'>(8).fill('release'),
  'renew',
  'renew',
  'claim',
  'claim',
  'spend',
  'withdraw',
  'withdraw',
  'bind',
  'end-session',
  'force-release',
  'add-reference',
  'release-reference',
  'release-reference',
];

const askers: Asker[] = [
  { nodeId: 'a' },
  { nodeId: 'b' },
  { nodeId: 'c' },
  { nodeId: 'd', sessionId: 's1' },
  { nodeId: 'd', sessionId: 's2' },
];

export const intents: fc.Arbitrary<Intent> = fc.record({
  resourceId: fc.constantFrom('layer', 'layer', 'other'),
  kind: fc.constantFrom(...KINDS),
  type: fc.constantFrom('pull', 'pull', 'pull', 'update', 'update', 'delete', 'scan'),
  asker: fc.constantFrom(...askers),
  aimed: fc.constantFrom(true, true, true, false),
  back: fc.option(fc.nat({ max: 2 }), { nil: undefined, freq: 2 }),
  absent: fc.constantFrom(undefined, undefined, true, false),
  leaseMs: fc.constantFrom(undefined, undefined, 0, 3000),
  subtype: fc.constantFrom(undefined, 'gold'),
  deliveredLater: fc.constantFrom(false, false, false, true),
  outcome: fc.constantFrom(OUTCOMES[0], OUTCOMES[0], ...OUTCOMES),
});

/** Times are short, and far enough apart that the order of deadlines is never a matter of milliseconds. */
const TIMES = { defaultLeaseMs: 5000, claimTimeoutMs: 1000, waiterTtlMs: 60_000, completionTtlMs: 20_000 };

/** After this long nothing is left but references and holds without a lease. */
export const LONG_MS = 130_000;

export const policies: fc.Arbitrary<LockPolicy> = fc
  .record({
    allowMultiNodeDownload: fc.constantFrom(true, true, true, false),
    refcountMode: fc.constantFrom('server' as const, 'server' as const, 'client' as const),
    updateRequiresNoRef: fc.boolean(),
    lockIsolation: fc.constantFrom('operation' as const, 'resource' as const),
    successPolicy: fc.constantFrom('dismiss' as const, 'dismiss' as const, 'handover' as const),
    lanes: fc.constantFrom<string[]>([], ['gold']),
    completedSkipMs: fc.constantFrom(0, 0, 5000),
  })
  .map((policy) => ({ ...DEFAULT_LOCK_POLICY, ...TIMES, ...policy, shardCount: 2 }));

/** What the intent means in a system where these names are used and this is the state. */
export function commandOf(intent: Intent, names: Names, state: ResourceState): Command {
  const { kind, back } = intent;
  const { type, asker } = (intent.aimed && targetOf(intent, state)) || intent;
  const ticket = back === undefined ? undefined : names.ticket(back);
  const token = back === undefined ? undefined : names.token(back);
  switch (kind) {
    case 'acquire': {
      const { absent, leaseMs, subtype, deliveredLater } = intent;
      return { kind, type, asker, ticket, absent, leaseMs, subtype, deliveredLater };
    }
    case 'release':
      return { kind, type, asker, token, ...intent.outcome };
    case 'renew':
      return { kind, type, asker, token, leaseMs: intent.leaseMs };
    case 'spend':
      return { kind, type, asker, moment: dismissedAt(state, type, asker) };
    case 'withdraw':
      return { kind, type, asker, ticket, error: 'cancelled' };
    case 'end-session':
      return { kind, type, asker, error: 'session over' };
    case 'force-release':
      return { kind, type, token: keyOf(state, type)?.hold?.token ?? token ?? 1, reason: 'by hand' };
    case 'add-reference':
    case 'release-reference':
      return { kind, nodeId: asker.nodeId };
    case 'bind':
      return { kind, type, asker, at: intent.subtype ?? '' };
    default:
      return { kind, type, asker };
  }
}

/** A key and asker that the command applies to: of the type meant if possible. */
function targetOf({ kind, type }: Intent, state: ResourceState): { type: string; asker: Asker } | undefined {
  const targets = state.keys.flatMap((key) => {
    const queued = key.lanes.flatMap((lane) => [...lane.waiters]);
    const found: Partial<Record<Intent['kind'], readonly (Asker | undefined)[]>> = {
      release: [key.hold],
      renew: [key.hold],
      claim: [key.hold],
      bind: [key.hold, ...queued],
      spend: [...key.dismissals],
      withdraw: [...queued, key.hold],
      'end-session': [key.hold, ...queued],
    };
    const askers = (found[kind] ?? []).filter((asker) => asker !== undefined);
    return askers.map(({ nodeId, sessionId }) => ({ type: key.type, asker: { nodeId, sessionId } }));
  });
  return targets.find((target) => target.type === type) ?? targets[0];
}

function dismissedAt(state: ResourceState, type: string, asker: Asker) {
  const dismissals = keyOf(state, type)?.dismissals ?? [];
  const dismissal = [...dismissals].find((other) => sameAsker(other, asker));
  return dismissal?.outcome.moment ?? { revision: 1, n: 0 };
}
