import { partition } from './history.js';
import {
  askerOf,
  type End,
  type Lock,
  type LockInput,
  type LockOperation,
  type Recorded,
  type Renew,
} from './lock-operations.js';

/** Settings of the server, 0 = never. */
export interface Timing {
  readonly leaseMs: number;
  readonly claimTimeoutMs: number;
  readonly waiterTtlMs: number;
}

export const DEFAULT_TIMING: Timing = { leaseMs: 3_600_000, claimTimeoutMs: 10_000, waiterTtlMs: 600_000 };

type Ask = LockOperation & { readonly input: Lock | Renew };
type SessionEnd = Recorded & { readonly input: { readonly session: string } };

/**
 * The operations of a recorded history, and with them every moment from which a hold or a wait may have ended by itself:
 * its session was ended, may have missed its TTL, or its lease, claim or wait may have run out. Nothing else may end
 * one. Each is a maybe, but for a session whose end was acknowledged.
 */
export function withPossibleEnds(history: readonly Recorded[], timing: Timing): LockOperation[] {
  const ends = endsOfSessions(history);
  const resources = partition(history.filter(isOnResource), ({ resource }) => resource);
  return [...resources.values()].flatMap((operations) => endsOfResource(operations, ends, timing));
}

function endsOfResource(
  history: readonly LockOperation[],
  ends: ReadonlyMap<string, readonly SessionEnd[]>,
  timing: Timing,
): LockOperation[] {
  const lastMoment = Math.max(...history.map((operation) => operation.return ?? operation.call));
  const operations = history.map((operation) => doubting(operation, ends));
  const asked = operations.filter(isAsk).toSorted((a, b) => a.call - b.call);
  const numbers = refreshNumbers(asked);
  const silences = [...new Set(numbers.values())].flatMap((refresh) => {
    const first = asked.find((ask) => numbers.get(ask) === refresh)!;
    return silentEnds(first, refresh, asked, timing).filter(({ call }) => call <= lastMoment);
  });
  const refreshes = new Set(silences.map(({ input }) => input.refresh));
  const named = operations.map((operation) => {
    const refresh = numbers.get(operation);
    if (refresh === undefined || !refreshes.has(refresh)) return operation;
    return { ...operation, input: { ...operation.input, refresh } as LockInput };
  });
  const late = sessionsOf(asked)
    .flatMap((session) => ends.get(session) ?? [])
    .filter(({ call }) => call <= lastMoment);
  return [...named, ...silences, ...late.flatMap((end) => endsOfKeys(end, asked))];
}

/**
 * A number for each ask, and one for all of a row of the same that were not answered: the time of each may then begin with the
 * first, which allows a little more than there is, and makes them one to the checker.
 */
function refreshNumbers(asked: readonly Ask[]): Map<LockOperation, number> {
  const numbers = new Map<LockOperation, number>();
  const unanswered = new Map<string, { readonly text: string; readonly number: number }>();
  for (const ask of asked) {
    const asker = `${askerOf(ask.input)} ${ask.input.type}`;
    const text = JSON.stringify(ask.input);
    const before = unanswered.get(asker);
    const isRepeated = ask.output === undefined && before?.text === text;
    const number = isRepeated ? before.number : numbers.size + 1;
    numbers.set(ask, number);
    if (ask.output === undefined) unanswered.set(asker, { text, number });
    else unanswered.delete(asker);
  }
  return numbers;
}

function sessionsOf(asked: readonly Ask[]): string[] {
  return [...new Set(asked.flatMap(({ input: { session } }) => (session === undefined ? [] : [session])))];
}

function isOnResource(operation: Recorded): operation is LockOperation {
  return 'resource' in operation.input;
}

function isAsk(operation: LockOperation): operation is Ask {
  return operation.input.do === 'lock' || operation.input.do === 'renew';
}

/** By session: those that were asked for, and the moment from which it may have missed its TTL. */
function endsOfSessions(history: readonly Recorded[]): ReadonlyMap<string, readonly SessionEnd[]> {
  const ends = new Map<string, SessionEnd[]>();
  const kept = new Map<string, { lastCall: number; ttlMs: number; node: string }>();
  for (const operation of history) {
    const { input, output, call } = operation;
    if (isSessionEnd(operation)) {
      const { session } = operation.input;
      ends.set(session, [...(ends.get(session) ?? []), operation]);
    }
    if (output?.is !== 'session') continue;
    const known = kept.get(output.session);
    const { node, ttlMs } = input.do === 'open-session' ? input : (known ?? { node: '', ttlMs: Infinity });
    kept.set(output.session, { node, ttlMs, lastCall: Math.max(call, known?.lastCall ?? 0) });
  }
  for (const [session, { lastCall, ttlMs, node }] of kept) {
    const lapse = {
      client: '-',
      call: lastCall + ttlMs,
      input: { do: 'end-session' as const, node, session },
    };
    ends.set(session, [...(ends.get(session) ?? []), lapse]);
  }
  return ends;
}

function isSessionEnd(operation: Recorded): operation is SessionEnd {
  return operation.input.do === 'end-session';
}

function doubting(operation: LockOperation, ends: ReadonlyMap<string, readonly SessionEnd[]>): LockOperation {
  const { input, return: returned = Infinity } = operation;
  if (!('type' in input) || input.session === undefined) return operation;
  const doubtful = ends.get(input.session)?.some(({ call }) => call <= returned);
  return doubtful ? { ...operation, input: { ...input, doubtful } } : operation;
}

/**
 * What the end of a session means for each key that it asked for. A request that was under way then was granted or queued
 * all the same, and is ended too, later.
 */
function endsOfKeys(end: SessionEnd, asked: readonly Ask[]): LockOperation[] {
  const own = asked.filter(({ input }) => input.session === end.input.session);
  const keys = new Map(own.map((ask) => [`${ask.input.type}:${ask.input.resource}`, ask]));
  const { client, call, return: returned, output } = end;
  const underWay = own.filter(
    (ask) => (ask.return ?? Infinity) >= call && ask.call <= (returned ?? Infinity),
  );
  return [
    ...[...keys.values()].map((ask) => ({
      client,
      call,
      return: returned,
      input: endOf(ask),
      output: output && ({ is: 'ended' } as const),
    })),
    ...underWay.map((ask) => ({ client: '-', call, input: endOf(ask) })),
  ];
}

/** If nothing was heard of the asker after this. */
function silentEnds(
  ask: Ask,
  refresh: number,
  asked: readonly Ask[],
  timing: Timing,
): (LockOperation & { readonly input: End })[] {
  const { input, call } = ask;
  const after = (ms: number, only: End['only']) =>
    ms === 0 ? [] : [{ client: '-', call: call + ms, input: { ...endOf(ask), refresh, only } }];
  const held = after(leaseOf(ask, asked, timing), 'held');
  if (input.do === 'renew') return held;
  const unclaimed = after(timing.claimTimeoutMs, 'unclaimed');
  // A repeated ask is written down only when half the time has passed.
  const waiting = input.session === undefined ? after(timing.waiterTtlMs / 2, 'waiting') : [];
  return [...held, ...unclaimed, ...waiting];
}

/** Who names none keeps the lease there is: it may be the shortest the asker ever named for this key. */
function leaseOf({ input }: Ask, asked: readonly Ask[], { leaseMs }: Timing): number {
  if (input.leaseMs !== undefined) return input.leaseMs;
  const sameKey = asked.filter(
    (other) =>
      askerOf(other.input) === askerOf(input) &&
      other.input.type === input.type &&
      other.input.resource === input.resource,
  );
  const unnamed = input.session === undefined ? leaseMs : 0;
  const leases = sameKey.map((other) => other.input.leaseMs ?? unnamed).filter((lease) => lease > 0);
  return leases.length === 0 ? 0 : Math.min(...leases);
}

function endOf({ input: { resource, type, node, session } }: Ask): End {
  return { do: 'end', resource, type, node, session };
}
