import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Subject, type Subscription } from 'rxjs';
import { type Deadlines, type Due } from '../locking/deadlines.js';
import { LockManager } from '../locking/lock-manager.js';
import { type Change } from '../stores/state-store.interface.js';
import { Heartbeat, INSTANCE_TTL_MS } from './heartbeat.js';
import { InstanceRecords } from './instance-records.js';

interface Instance extends Due {
  readonly id: string;
  revision: number;
}

/**
 * Which processes serve the store. One whose heartbeat has not changed for its time is buried: its record is deleted as it
 * was last seen, so that a watch that lags buries nobody, and all learn of a death from the same tombstone.
 */
@Injectable()
export class Instances implements BeforeApplicationShutdown {
  /** Names of those that have come or gone. */
  readonly changes$ = new Subject<string>();
  private readonly instances = new Map<string, Instance>();
  private readonly deadlines: Deadlines<Instance>;
  private readonly subscription: Subscription;

  constructor(
    manager: LockManager,
    private readonly records: InstanceRecords,
    private readonly own: Heartbeat,
  ) {
    this.deadlines = manager.newDeadlines((instance) => void this.bury(instance));
    this.subscription = manager.others$.subscribe((change) => this.shown(change));
  }

  beforeApplicationShutdown(): void {
    this.deadlines.stop();
    this.subscription.unsubscribe();
  }

  /** Another process bears this name, and lives. */
  isElsewhere(id: string): boolean {
    return id !== this.own.instanceId && this.instances.has(id);
  }

  private shown(change: Change): void {
    const id = this.records.idOf(change);
    if (id === undefined) return;
    if (change.value === undefined) return this.gone(id);
    const known = this.instances.get(id);
    const instance = known ?? { id, revision: 0, dueAtMs: Infinity, dueIndex: -1 };
    instance.revision = change.revision;
    this.expectAnother(instance);
    if (known) return;
    this.instances.set(id, instance);
    this.changes$.next(id);
  }

  private gone(id: string): void {
    const instance = this.instances.get(id);
    if (!instance) return;
    this.deadlines.schedule(instance, Infinity);
    this.instances.delete(id);
    this.changes$.next(id);
  }

  private expectAnother(instance: Instance): void {
    if (instance.id === this.own.instanceId) return;
    this.deadlines.schedule(instance, this.deadlines.now() + INSTANCE_TTL_MS);
  }

  private async bury(instance: Instance): Promise<void> {
    const buried = await this.records.delete(instance.id, instance.revision).catch(() => false);
    if (!buried && this.instances.has(instance.id)) this.expectAnother(instance);
  }
}
