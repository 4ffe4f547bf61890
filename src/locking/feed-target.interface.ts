import { type ResourceState } from '../core/state.js';
import { type Change } from '../stores/state-store.interface.js';
import { type ResourceEvents } from '../subscriptions/event-bus.js';
import { type OwnCommits } from './own-commits.js';
import { type Shard } from './shard.js';

/** Who is kept in step with the store. */
export interface FeedTarget {
  readonly own: OwnCommits;
  shardOf(resourceId: string): Shard;
  allShards(): Iterable<Shard>;
  partitionOf(resourceId: string): number;
  /** A listing of the store showed this resource. */
  listed(resourceId: string, state: ResourceState): void;
  /** Of one commit of the store. */
  publish(happened: readonly ResourceEvents[]): void;
  /** A change of something else in the store. What a listing shows is a change, too. */
  other(change: Change): void;
  /** What happened to the resources of this partition after the revision was not all shown; these went back to before it. */
  missed(partition: number, afterRevision: number, setBack: ReadonlySet<string>): void;
  /** From now on every change is shown as soon as it is made. */
  heard(): void;
  /** Changes are shown late, or not any more: also for each further reason of which that is learnt. */
  unheard(cause: unknown): void;
}
