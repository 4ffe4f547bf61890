import * as fc from 'fast-check';

/** Askers as `node` or `node/session`: two processes of one node, and sessionless ones. */
export const ASKERS = ['n1', 'n1/s1', 'n2', 'n3/s1', 'n3/s2', 'n4'] as const;
export const SUBTYPES = [undefined, 'a', 'b', 'unknown'] as const;

/** How a command names a token, ticket or renewal: as it is now, as it once was, or not at all. */
export type Naming = 'none' | 'right' | 'old' | 'wrong';

/** What somebody does; which token or ticket that means is found out when it is done. */
export type Action = {
  /** In the same commit as the action before it. */
  readonly joined: boolean;
  readonly passMs: number;
  readonly type: string;
  readonly who: string;
  /** Picks among what is remembered. */
  readonly pick: number;
  readonly naming: Naming;
  readonly ended: boolean;
} & (
  | {
      readonly kind: 'acquire';
      readonly subtype: string | undefined;
      readonly absent: boolean | undefined;
      readonly withTicket: boolean;
      readonly touch: boolean;
      readonly deliveredLater: boolean;
      readonly leaseMs: number | undefined;
    }
  | {
      readonly kind: 'release';
      readonly by: 'holder' | 'anybody' | 'repeat';
      readonly end: 'success' | 'failure' | 'fatal';
    }
  | { readonly kind: 'claim'; readonly touch: boolean }
  | {
      readonly kind:
        | 'renew'
        | 'touch'
        | 'spend'
        | 'withdraw'
        | 'bind'
        | 'expire-hold'
        | 'expire-waiter'
        | 'end-session'
        | 'force-release'
        | 'forget'
        | 'add-reference'
        | 'release-reference';
    }
);

const mostly = <T>(usual: T, seldom: T): fc.Arbitrary<T> =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constant(seldom) });

const common = {
  joined: fc.boolean(),
  passMs: fc.constantFrom(0, 0, 1, 400, 1500, -300),
  type: fc.constantFrom('pull', 'pull', 'pull', 'update', 'update', 'delete', 'delete', 'scan'),
  who: fc.constantFrom(...ASKERS),
  pick: fc.nat(50),
  naming: fc.constantFrom<Naming>('none', 'right', 'right', 'old', 'wrong'),
  ended: mostly(false, true),
};

const acquire = fc.record({
  ...common,
  kind: fc.constant('acquire' as const),
  subtype: fc.constantFrom(...SUBTYPES),
  absent: fc.constantFrom(undefined, undefined, undefined, true, false),
  withTicket: fc.boolean(),
  touch: mostly(false, true),
  deliveredLater: mostly(false, true),
  leaseMs: fc.constantFrom(undefined, undefined, 0, 5000),
});

const release = fc.record({
  ...common,
  kind: fc.constant('release' as const),
  by: fc.constantFrom(
    'holder' as const,
    'holder' as const,
    'holder' as const,
    'anybody' as const,
    'repeat' as const,
  ),
  end: fc.constantFrom('success' as const, 'success' as const, 'failure' as const, 'fatal' as const),
});

const claim = fc.record({ ...common, kind: fc.constant('claim' as const), touch: fc.boolean() });

const other = fc.record({
  ...common,
  kind: fc.constantFrom(
    'renew' as const,
    'touch' as const,
    'spend' as const,
    'withdraw' as const,
    'bind' as const,
    'expire-hold' as const,
    'expire-waiter' as const,
    'end-session' as const,
    'force-release' as const,
    'forget' as const,
    'add-reference' as const,
    'release-reference' as const,
    'release-reference' as const,
  ),
});

export const actions: fc.Arbitrary<readonly Action[]> = fc.array(
  fc.oneof<[fc.WeightedArbitrary<Action>, ...fc.WeightedArbitrary<Action>[]]>(
    { weight: 10, arbitrary: acquire },
    { weight: 6, arbitrary: release },
    { weight: 1, arbitrary: claim },
    { weight: 6, arbitrary: other },
  ),
  { minLength: 5, maxLength: 60, size: 'max' },
);
