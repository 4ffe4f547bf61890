import { compareTickets } from './lock-operations.js';

/** One resource as those who use it over the wire can know it. `undefined` is what nobody has been told yet. */
export interface LockState {
  /** Of the types that were ever used, by name. */
  readonly keys: readonly KeyState[];
  /** Nodes, sorted. */
  readonly references: readonly string[];
  /** Of those that have been told. */
  readonly newestToken: number;
}

export interface KeyState {
  readonly type: string;
  readonly hold?: Hold | undefined;
  readonly queue: readonly Waiter[];
  readonly newestTicket?: string | undefined;
  readonly success?: Outcome | undefined;
  /** Newer than `success`. */
  readonly failure?: Outcome | undefined;
  /** What each asker was sent away with and has not been told, sorted. */
  readonly dismissals: readonly (readonly [asker: string, as: Dismissal])[];
  readonly last?: Release | undefined;
}

export interface Hold {
  readonly asker: string;
  readonly node: string;
  readonly token: number | undefined;
  /** An untold token lies between these. */
  readonly above: number;
  readonly below: number;
  readonly claimed: boolean;
  readonly refresh: number;
}

export interface Waiter {
  readonly asker: string;
  readonly node: string;
  readonly ticket: string | undefined;
  readonly absent: boolean;
  readonly refresh: number;
}

/** Its place in the order of tickets: these had been given before it. */
export interface Outcome {
  readonly upTo: string | undefined;
}

export type Dismissal = 'skip' | 'OPERATION_FAILED' | 'RESOURCE_IN_USE';

export interface Release {
  readonly asker: string;
  readonly node: string;
  readonly token: number | undefined;
  readonly success: boolean;
  readonly error: string;
  readonly fatal: boolean;
  readonly next: string | undefined;
}

export const EMPTY: LockState = { keys: [], references: [], newestToken: 0 };

export function keyOf(state: LockState, type: string): KeyState {
  return state.keys.find((key) => key.type === type) ?? { type, queue: [], dismissals: [] };
}

export function withKey(state: LockState, key: KeyState): LockState {
  const others = state.keys.filter(({ type }) => type !== key.type);
  const keys = [...others, key].sort((a, b) => (a.type < b.type ? -1 : 1));
  return { ...state, keys };
}

export function isDeleteHeld(state: LockState): boolean {
  return keyOf(state, 'delete').hold !== undefined;
}

export function withReferences(state: LockState, nodes: readonly string[]): LockState {
  const references = [...new Set([...state.references, ...nodes])].sort();
  return { ...state, references };
}

export function withoutWaiter(key: KeyState, asker: string): KeyState {
  return { ...key, queue: key.queue.filter((waiter) => waiter.asker !== asker) };
}

export function dismissalOf(key: KeyState, asker: string): Dismissal | undefined {
  return key.dismissals.find(([who]) => who === asker)?.[1];
}

export function withoutDismissal(key: KeyState, asker: string): KeyState {
  return { ...key, dismissals: key.dismissals.filter(([who]) => who !== asker) };
}

export function withDismissals(key: KeyState, askers: readonly string[], as: Dismissal): KeyState {
  const others = key.dismissals.filter(([who]) => !askers.includes(who));
  const dismissals = [...others, ...askers.map((asker) => [asker, as] as const)];
  return { ...key, dismissals: dismissals.sort(([a], [b]) => (a < b ? -1 : 1)) };
}

export function positionOf(key: KeyState, asker: string): number {
  return key.queue.findIndex((waiter) => waiter.asker === asker) + 1;
}

export function isNewer(outcome: Outcome | undefined, ticket: string | undefined): boolean {
  if (!outcome || ticket === undefined) return false;
  return outcome.upTo !== undefined && compareTickets(ticket, outcome.upTo) <= 0;
}

export function newerTicket(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return compareTickets(a, b) > 0 ? a : b;
}

/** The same for equal states, however they came about. */
export function stateKey({ keys, references, newestToken }: LockState): string {
  return JSON.stringify([newestToken, references, keys.map(keyParts)]);
}

function keyParts({ type, hold, queue, newestTicket, success, failure, dismissals, last }: KeyState) {
  return [
    type,
    hold && [hold.asker, hold.token, hold.above, hold.below, hold.claimed, hold.refresh],
    queue.map(({ asker, ticket, absent, refresh }) => [asker, ticket, absent, refresh]),
    newestTicket,
    success && [success.upTo],
    failure && [failure.upTo],
    dismissals,
    last && [last.asker, last.token, last.success, last.error, last.fatal, last.next],
  ];
}
