import { type Operation } from './history.js';

interface OnResource {
  readonly resource: string;
  readonly node: string;
}

interface OnKey extends OnResource {
  readonly type: string;
  readonly session?: string | undefined;
  /** Its session may have ended before it was answered (see `possible-ends.ts`). */
  readonly doubtful?: true;
  /** What an expiry names that has seen no later ask or renewal than this one. */
  readonly refresh?: number;
}

export interface Lock extends OnKey {
  readonly do: 'lock';
  readonly ticket?: string | undefined;
  readonly absent?: boolean | undefined;
  readonly leaseMs?: number | undefined;
}

export interface Unlock extends OnKey {
  readonly do: 'unlock';
  readonly token?: number | undefined;
  readonly success: boolean;
  /** Empty for a success. */
  readonly error: string;
  readonly fatal: boolean;
}

export interface Renew extends OnKey {
  readonly do: 'renew';
  readonly token?: number | undefined;
  readonly leaseMs?: number | undefined;
}

export interface Status extends OnKey {
  readonly do: 'status';
  readonly ticket?: string | undefined;
}

export interface Cancel extends OnKey {
  readonly do: 'cancel';
}

/** The asker's hold fails or its wait is withdrawn: its session has ended, or nothing was heard of it for too long. */
export interface End extends OnKey {
  readonly do: 'end';
  /** Only a wait, a hold, or a hold that has not been claimed since it was handed over. */
  readonly only?: 'waiting' | 'held' | 'unclaimed' | undefined;
}

export interface ChangeReference extends OnResource {
  readonly do: 'add-reference' | 'release-reference';
}

export interface ReadReferences {
  readonly do: 'references';
  readonly resource: string;
}

/** What a history has to say of sessions; `possible-ends.ts` makes of it what that means for each key. */
export type SessionInput =
  | { readonly do: 'open-session'; readonly node: string; readonly ttlMs: number }
  | { readonly do: 'renew-session' | 'end-session'; readonly node: string; readonly session: string };

export type LockInput = Lock | Unlock | Renew | Status | Cancel | End | ChangeReference | ReadReferences;

export interface Refused {
  readonly is: 'refused';
  readonly code: string;
}

export type LockOutput =
  | Refused
  | { readonly is: 'acquired'; readonly token: number | undefined; readonly references: number }
  | {
      readonly is: 'queued';
      readonly ticket: string | undefined;
      readonly position: number;
      readonly references: number;
    }
  | { readonly is: 'skip'; readonly references: number }
  | { readonly is: 'released'; readonly next: string | undefined }
  | { readonly is: 'renewed'; readonly token: number | undefined }
  | { readonly is: 'cancelled'; readonly changed: boolean }
  | { readonly is: 'ended' }
  | { readonly is: 'counted'; readonly count: number }
  | { readonly is: 'references'; readonly nodes: readonly string[] }
  | StatusOutput;

export interface StatusOutput {
  readonly is: 'status';
  readonly acquired: boolean;
  readonly completed: boolean;
  readonly success: boolean;
  readonly holder: string | undefined;
  readonly token: number | undefined;
  /** 0: not queued. */
  readonly position: number;
  readonly waiting: number;
  readonly references: number;
}

export type SessionOutput =
  Refused | { readonly is: 'session'; readonly session: string } | { readonly is: 'ended' };

export type LockOperation = Operation<LockInput, LockOutput>;

/** As it was on the wire. */
export type Recorded = Operation<LockInput | SessionInput, LockOutput | SessionOutput>;

/** Node and session: two sessions of a node are two askers. */
export function askerOf({ node, session }: Pick<OnKey, 'node' | 'session'>): string {
  return session === undefined ? node : `${node}/${session}`;
}

/** Negative: the first was given first. A ticket begins with the moment of queueing, `<revision>.<n>`. */
export function compareTickets(a: string, b: string): number {
  const [revisionA, nA] = a.split('.').map(Number);
  const [revisionB, nB] = b.split('.').map(Number);
  return revisionA! - revisionB! || nA! - nB!;
}
