import { type PartitionKeys } from './redis-keys.js';

/** A partition as this process knows it. */
export interface RedisPartition {
  readonly number: number;
  readonly keys: PartitionKeys;
  /** The highest revision seen; no commit of ours may get one that is not above it. */
  newest: number;
}
