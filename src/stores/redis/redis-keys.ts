import { badUrl } from '../engine-url.js';

/** The keys of one partition. They share a hash tag, so that a Cluster keeps them in one slot and a script sees them all. */
export interface PartitionKeys {
  /**
   * Hash: `format`, `partitions`, `revision` (of the last commit), and what `commit.lua` needs to cut the feed. `read` means nothing: it is
   * written so that replicas can be waited for.
   */
  readonly head: string;
  /** Hash: key → `<revision> <value>`. */
  readonly items: string;
  /** Sorted set of the keys, all of score 0: their order. */
  readonly index: string;
  /** Stream: one entry for each commit, its id `<revision>-0`. */
  readonly feed: string;
}

export function partitionKeys(keyPrefix: string, partition: number): PartitionKeys {
  const tag = `{${keyPrefix}p${partition}}`;
  return { head: `${tag}/head`, items: `${tag}/items`, index: `${tag}/index`, feed: `${tag}/feed` };
}

/** Braces would end the hash tag early and scatter a partition over several slots. */
export function assertKeyPrefix(keyPrefix: string): void {
  if (/[{}]/.test(keyPrefix)) throw badUrl('with Redis, KEY_PREFIX may not contain { or }');
}
