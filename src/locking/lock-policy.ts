import { type Policy } from '../core/policy.js';
import { type DeadlinePolicy } from './key-clock.js';

/** All that the locks depend on. */
export interface LockPolicy extends Policy, DeadlinePolicy {
  /** 1 to 4096. */
  readonly shardCount: number;
}
