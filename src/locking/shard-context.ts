import { type Clock } from '../common/clock.interface.js';
import { type Policy } from '../core/policy.js';
import { type StateStore } from '../stores/state-store.interface.js';
import { type Committer } from './committer.js';
import { type CountedReferences } from './counted-references.js';
import { type Company } from './company.js';
import { type Crowd } from './crowd.js';
import { type Deadlines } from './deadlines.js';
import { type DeadlinePolicy } from './key-clock.js';
import { type OwnCommits } from './own-commits.js';
import { type RecentSlots } from './recent-slots.js';
import { type ResourceSlot } from './resource-slot.js';

export interface ShardContext {
  readonly store: StateStore;
  readonly committer: Committer;
  /** Only over a shared store: an embedded one is quicker than any crowd. */
  readonly crowd: Crowd | undefined;
  readonly clock: Clock;
  readonly company: Company;
  readonly deadlines: Deadlines<ResourceSlot>;
  readonly policy: Policy & DeadlinePolicy;
  readonly references: CountedReferences;
  readonly recent: RecentSlots;
  readonly own: OwnCommits;
  partitionOf(resourceId: string): number;
  newCommitId(): string;
  /** As `RecordFeed` says. */
  shownUpTo(partition: number, revision: number): Promise<void>;
  listingsOf(partition: number): number;
  /** A record that the feed could not show whole is known now. */
  caughtUp(slot: ResourceSlot): void;
}
