import { type Asker, sameAsker } from '../../src/core/chunked-list.js';
import { type Command, type Release } from '../../src/core/commands.js';
import { type Moment } from '../../src/core/moment.js';
import { type KeyState, keyOf, type ResourceState } from '../../src/core/state.js';
import { asker } from '../support/resource-driver.js';
import { type Action } from './core-actions.js';

/** A caller can name any number, but not a token that is still to be given out. */
const NEVER_GRANTED = 1e12;

/** What callers may know: every answer and event so far, also those long out of date. */
export interface Memory {
  readonly tickets: { type: string; nodeId: string; ticket: Moment }[];
  readonly tokens: number[];
  readonly revisions: number[];
  readonly releases: Map<string, Release>;
}

/** The command that an action means, for somebody who knows the committed state and remembers old answers. */
export function commandOf(action: Action, state: ResourceState, memory: Memory): Command {
  const { kind, type } = action;
  const who = asker(action.who);
  const key = keyOf(state, type);
  const sessionEnded = action.ended && who.sessionId !== undefined;
  switch (action.kind) {
    case 'acquire': {
      const { subtype, absent, touch, deliveredLater, leaseMs } = action;
      const ticket = action.withTicket ? rememberedTicket(action, who, memory) : undefined;
      return {
        kind: 'acquire',
        type,
        asker: who,
        sessionEnded,
        subtype,
        absent,
        touch,
        deliveredLater,
        leaseMs,
        ticket,
      };
    }
    case 'release':
      return releaseOf(action, key, memory);
    case 'renew':
      return {
        kind: 'renew',
        type,
        asker: holderOr(who, key, action),
        token: tokenOf(action, key, memory),
        sessionEnded,
      };
    case 'claim':
      return { kind: 'claim', type, asker: holderOr(who, key, action), touch: action.touch };
    case 'touch':
      return { kind: 'touch', type, asker: who };
    case 'spend': {
      const dismissals = [...(key?.dismissals ?? [])];
      const told = dismissals[action.pick % Math.max(1, dismissals.length)];
      const moment = told?.outcome.moment ?? { revision: 1, n: 0 };
      return {
        kind: 'spend',
        type,
        asker: told ?? who,
        moment: action.naming === 'wrong' ? { ...moment, n: moment.n + 1 } : moment,
      };
    }
    case 'withdraw': {
      const ticket = action.naming === 'none' ? undefined : rememberedTicket(action, who, memory);
      return { kind: 'withdraw', type, asker: holderOr(who, key, action), ticket, error: 'cancelled' };
    }
    case 'expire-hold': {
      const renewed = (key?.hold?.renewed ?? 1) - (action.naming === 'old' ? 1 : 0);
      return {
        kind: 'expire-hold',
        type,
        token: tokenOf(action, key, memory) ?? 1,
        renewed,
        error: 'expired',
      };
    }
    case 'expire-waiter': {
      const waiting = (key?.lanes ?? []).flatMap(({ waiters }) => Array.from(waiters));
      const waiter = waiting[action.pick % Math.max(1, waiting.length)];
      const renewed = (waiter?.renewed ?? 1) - (action.naming === 'old' ? 1 : 0);
      const ticket = waiter?.ticket ?? { revision: 1, n: 0 };
      return { kind: 'expire-waiter', type, asker: waiter ?? who, ticket, renewed, error: 'silent' };
    }
    case 'force-release':
      return { kind: 'force-release', type, token: tokenOf(action, key, memory) ?? 1, reason: 'by hand' };
    case 'forget':
      return { kind: 'forget', type, upTo: memory.revisions.at(-1 - (action.pick % 8)) ?? 1 };
    case 'bind':
      return { kind: 'bind', type, asker: who, at: action.pick % 2 === 0 ? 'here' : 'there' };
    case 'end-session':
      return { kind: 'end-session', type, asker: who, error: 'session over' };
    case 'add-reference':
    case 'release-reference':
      return { kind: kind as 'add-reference' | 'release-reference', nodeId: who.nodeId };
  }
}

function releaseOf(action: Action & { kind: 'release' }, key: KeyState | undefined, memory: Memory): Release {
  const { type } = action;
  const last = memory.releases.get(type);
  if (action.by === 'repeat' && last) {
    return { ...last, token: action.naming === 'none' ? undefined : last.token };
  }
  const who = asker(action.who);
  const by = action.by === 'holder' && key?.hold ? plain(key.hold) : who;
  const success = action.end === 'success';
  return {
    kind: 'release',
    type,
    asker: by,
    token: tokenOf(action, key, memory),
    sessionEnded: action.ended && by.sessionId !== undefined,
    success,
    error: success ? '' : 'broken',
    fatal: action.end === 'fatal',
  };
}

function tokenOf(
  { naming, pick }: Action,
  key: KeyState | undefined,
  { tokens }: Memory,
): number | undefined {
  if (naming === 'none') return undefined;
  const now = key?.hold?.token;
  if (naming === 'right') return now;
  if (naming === 'wrong') return NEVER_GRANTED;
  return tokens[pick % Math.max(1, tokens.length)];
}

function rememberedTicket(
  { pick, type }: Action,
  { nodeId }: Asker,
  { tickets }: Memory,
): Moment | undefined {
  const own = tickets.filter((other) => other.type === type && other.nodeId === nodeId);
  return own[pick % Math.max(1, own.length)]?.ticket;
}

/** Half of the time the one it matters to. */
function holderOr(who: Asker, key: KeyState | undefined, { pick }: Action): Asker {
  return key?.hold && pick % 2 === 0 && !sameAsker(key.hold, who) ? plain(key.hold) : who;
}

function plain({ nodeId, sessionId }: Asker): Asker {
  return { nodeId, sessionId };
}
