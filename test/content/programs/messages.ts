import { type SweepOptions } from '../../../src/content/index.js';

/** What a test and the node processes it has started say to each other. */

export interface NodeOptions {
  readonly nodeId: string;
  readonly serverUrl: string;
  /** For example `http://127.0.0.1:5000/v2/demo/blobs`. */
  readonly blobsUrl: string;
  readonly directory: string;
  readonly sessionTtlMs: number;
  /** How often the node stops just before it moves a blob to the trash, of all times: 0 to 1. */
  readonly stops: number;
}

export interface Item {
  readonly digest: string;
  readonly size: number;
}

export interface ChurnOptions {
  readonly items: readonly Item[];
  readonly milliseconds: number;
  readonly seed: number;
  /** How many blobs the node is busy with at a time. Fewer than there are. */
  readonly atOnce: number;
}

export interface ChurnReport {
  /** How often each thing happened: `yours`, `skip`, `deleted`, `verified`, or the code of a refusal. */
  readonly counts: Readonly<Record<string, number>>;
  /** Bytes that were not there, or not right, though this node had a reference. */
  readonly violations: readonly string[];
}

export type Command =
  | { readonly do: 'pull'; readonly items: readonly Item[]; readonly atOnce: number }
  | { readonly do: 'release'; readonly items: readonly Item[] }
  | { readonly do: 'delete'; readonly items: readonly Item[] }
  | { readonly do: 'sweep'; readonly options: SweepOptions }
  | { readonly do: 'churn'; readonly options: ChurnOptions };

/** By digest: `yours`, `skip`, `deleted`, or the code or message of the error. */
export type Outcomes = Readonly<Record<string, string>>;

export interface Call {
  readonly id: number;
  readonly command: Command;
}

export type Reply =
  | { readonly ready: true }
  /** Told before the node stops itself. */
  | { readonly stopping: true }
  /** Told before the registry is asked. */
  | { readonly begin: string }
  /** Told when the blob is committed, or given up. */
  | { readonly end: string }
  | { readonly id: number; readonly value?: unknown; readonly error?: string };
