import { partition } from './history.js';
import { askerOf, compareTickets, type Lock, type LockOperation, type Recorded } from './lock-operations.js';

/** What a history breaks, as sentences. Each is cheap and needs no search, so that it holds for histories of any length. */
export function brokenInvariants(history: readonly Recorded[]): string[] {
  const keys = partition(history.filter(isOnKey), keyName);
  const ofKeys = [...keys].flatMap(([key, operations]) =>
    KEY_INVARIANTS.flatMap((invariant) =>
      invariant(operations as OnKey[]).map((problem) => `${key}: ${problem}`),
    ),
  );
  return [...ofKeys, ...grantsToEndedSessions(history), ...sessionsLostEarly(history)];
}

/** Of a history whose clients went on until nobody waited: who was told to wait was told an end as well. */
export function endlessWaits(history: readonly Recorded[]): string[] {
  const last = new Map<string, OnKey>();
  for (const operation of history.filter(isOnKey)) {
    const { input } = operation;
    if (input.do !== 'lock' && input.do !== 'cancel' && !holdsOrHeld(operation)) continue;
    const wait = `${askerOf(input)} ${input.type}:${input.resource}`;
    if (operation.call >= (last.get(wait)?.call ?? 0)) last.set(wait, operation);
  }
  const ended = new Set(history.flatMap(overSession));
  return [...last]
    .filter(([, { output, input }]) => output?.is === 'queued' && !ended.has(input.session ?? ''))
    .map(([wait]) => `${wait} waits for ever`);
}

/** The session whose end was asked for, or told. */
function overSession({ input, output }: Recorded): string[] {
  if (input.do === 'end-session') return [input.session];
  const refused = output?.is === 'refused' && output.code === 'SESSION_NOT_FOUND';
  return refused && 'session' in input && input.session !== undefined ? [input.session] : [];
}

/** A hand-over may be learnt from the status, and ended without another ask. */
function holdsOrHeld({ output }: OnKey): boolean {
  return output?.is === 'released' || (output?.is === 'status' && output.acquired);
}

type OnKey = LockOperation & { readonly input: Pick<Lock, 'type' | 'resource' | 'node' | 'session'> };
type Invariant = (operations: readonly OnKey[]) => string[];

function keyName({ type, resource }: OnKey['input']): string {
  return `${type}:${resource}`;
}

function isOnKey(operation: Recorded): operation is OnKey {
  return 'type' in operation.input;
}

/** How long a token was held for certain, by what its holder was told. */
interface Tenure {
  readonly token: number;
  readonly asker: string;
  /** First answer that says so. */
  readonly from: number;
  /** Last call whose answer says so. */
  readonly to: number;
}

function tenures(operations: readonly OnKey[]): Tenure[] {
  const found = new Map<string, Tenure>();
  for (const { input, output, call, return: returned = Infinity } of operations) {
    if (output?.is !== 'acquired' && output?.is !== 'renewed') continue;
    const asker = askerOf(input);
    const token = output.token!;
    const { from, to } = found.get(`${token} ${asker}`) ?? { from: Infinity, to: 0 };
    const tenure = { token, asker, from: Math.min(from, returned), to: Math.max(to, call) };
    found.set(`${token} ${asker}`, tenure);
  }
  return [...found.values()].sort((a, b) => a.from - b.from);
}

/** A renewal with a token may come from another session of the same node. */
function oneNodePerToken(operations: readonly OnKey[]): string[] {
  const holders = new Map<number, string>();
  return operations.flatMap(({ input, output }) => {
    if (output?.is !== 'acquired' && output?.is !== 'renewed') return [];
    const holder = holders.get(output.token!) ?? input.node;
    holders.set(output.token!, holder);
    return holder === input.node ? [] : [`token ${output.token} was given to ${holder} and ${input.node}`];
  });
}

/** Once a token was told, no call made later is told a smaller one. */
function tokensFollowTime(operations: readonly OnKey[]): string[] {
  const told = tenures(operations);
  return told.flatMap((tenure) => {
    const larger = told.find(({ token, from }) => token > tenure.token && from < tenure.to);
    return larger ? [`${tenure.asker} was told ${tenure.token} after ${larger.asker} ${larger.token}`] : [];
  });
}

/** Nobody is told that it holds the key between two answers that tell another the same. */
function oneHolderAtATime(operations: readonly OnKey[]): string[] {
  const held = tenures(operations).filter(({ from, to }) => from < to);
  const problems: string[] = [];
  let longest: Tenure | undefined;
  for (const tenure of held) {
    if (longest && tenure.from < longest.to && tenure.token !== longest.token) {
      problems.push(
        `${tenure.asker} (${tenure.token}) and ${longest.asker} (${longest.token}) held it at once`,
      );
    }
    if (!longest || tenure.to > longest.to) longest = tenure;
  }
  return problems;
}

/** No success of a hold is acknowledged, for the first time it is said, after a larger token was seen. */
function noSuccessAfterLoss(operations: readonly OnKey[]): string[] {
  const all = tenures(operations);
  const said = new Set<number>();
  const problems: string[] = [];
  for (const { input, output, call } of operations.toSorted((a, b) => a.call - b.call)) {
    if (input.do !== 'unlock' || input.token === undefined) continue;
    const first = !said.has(input.token);
    said.add(input.token);
    if (!first || !input.success || output?.is !== 'released') continue;
    const later = all.find(({ token, from }) => token > input.token! && from < call);
    if (later) problems.push(`a success of ${input.token} was taken after ${later.asker} had ${later.token}`);
  }
  return problems;
}

interface Wait {
  readonly ticket: string;
  /** First call that can have begun it: also one of which nothing was heard. */
  readonly asked: number;
  readonly told: number;
}

function waits(operations: readonly OnKey[]): Wait[] {
  const found = new Map<string, Wait>();
  const unheard = new Map<string, number>();
  for (const { input, output, call, return: told = Infinity } of operations.toSorted(
    (a, b) => a.call - b.call,
  )) {
    if (input.do !== 'lock') continue;
    const asker = askerOf(input);
    if (output === undefined) unheard.set(asker, unheard.get(asker) ?? call);
    if (output?.is !== 'queued') continue;
    const ticket = output.ticket!;
    const { asked, told: before } = found.get(ticket) ?? { asked: unheard.get(asker) ?? call, told };
    found.set(ticket, { ticket, asked, told: Math.min(told, before) });
  }
  return [...found.values()].sort((a, b) => compareTickets(a.ticket, b.ticket));
}

/** Who was told its place before another came to wait has the smaller ticket. */
function ticketsFollowTime(operations: readonly OnKey[]): string[] {
  const problems: string[] = [];
  let latest: Wait | undefined;
  for (const wait of waits(operations)) {
    if (latest && wait.told < latest.asked) {
      problems.push(`ticket ${wait.ticket} was told before ${latest.ticket} was asked for`);
    }
    if (!latest || wait.asked > latest.asked) latest = wait;
  }
  return problems;
}

const KEY_INVARIANTS: readonly Invariant[] = [
  oneNodePerToken,
  tokensFollowTime,
  oneHolderAtATime,
  noSuccessAfterLoss,
  ticketsFollowTime,
];

function grantsToEndedSessions(history: readonly Recorded[]): string[] {
  const ended = new Map<string, number>();
  for (const { input, output, return: returned } of history) {
    if (input.do === 'end-session' && output?.is === 'ended') ended.set(input.session, returned!);
  }
  return history.filter(isOnKey).flatMap(({ input, output, call }) => {
    if (input.do !== 'lock' || input.session === undefined || output === undefined) return [];
    const isLate = call > (ended.get(input.session) ?? Infinity);
    return isLate && output.is !== 'refused'
      ? [`${askerOf(input)} was ${output.is} after its session ended`]
      : [];
  });
}

/** An answered renewal holds for its TTL, from when it was sent. */
function sessionsLostEarly(history: readonly Recorded[]): string[] {
  const ttls = new Map<string, number>();
  const keptUntil = new Map<string, number>();
  const problems: string[] = [];
  for (const { input, output, call, return: returned } of history.toSorted((a, b) => a.call - b.call)) {
    if (input.do === 'end-session') keptUntil.delete(input.session);
    if (output?.is === 'session') {
      if (input.do === 'open-session') ttls.set(output.session, input.ttlMs);
      keptUntil.set(output.session, call + ttls.get(output.session)!);
    }
    if (input.do !== 'renew-session' || output?.is !== 'refused') continue;
    const until = keptUntil.get(input.session);
    if (until !== undefined && returned! < until) {
      problems.push(`session ${input.session} was lost ${Math.round(until - returned!)} ms before its time`);
    }
  }
  return problems;
}
