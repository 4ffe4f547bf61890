import { Inject, Injectable } from '@nestjs/common';
import { fnv1a } from '../core/fnv1a.js';
import { type Change, STATE_STORE, type StateStore, type Write } from '../stores/state-store.interface.js';
import { StoreError } from '../stores/store.error.js';

const PREFIX = 'i/';
const CONTENT = '{"v":1}';

/** Heartbeats in the store: that one was written says everything, so that it has nothing in it. */
@Injectable()
export class InstanceRecords {
  constructor(@Inject(STATE_STORE) private readonly store: StateStore) {}

  /** Whose heartbeat has changed, if it is one. */
  idOf({ key }: Change): string | undefined {
    return key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined;
  }

  /** Its new revision; 0: it is not at this one (0: not there). */
  put(id: string, revision: number): Promise<number> {
    return this.write(id, { key: PREFIX + id, expect: revision || 'absent', put: CONTENT });
  }

  /** Whether it was at this revision, and is gone. */
  async delete(id: string, revision: number): Promise<boolean> {
    return (await this.write(id, { key: PREFIX + id, expect: revision, delete: true })) > 0;
  }

  /** 0: it is not there. */
  async revisionOf(id: string): Promise<number> {
    const [item] = await this.store.get(this.partitionOf(id), [PREFIX + id]);
    return item?.revision ?? 0;
  }

  private async write(id: string, write: Write): Promise<number> {
    const outcome = await this.store.commit(this.partitionOf(id), [write]);
    if (outcome.status === 'committed') return outcome.revision;
    if (outcome.status === 'conflict') return 0;
    const { cause } = outcome;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `What became of a commit is not known: ${reason}`;
    throw new StoreError('STORE_UNAVAILABLE', 'commit', message, cause);
  }

  private partitionOf(id: string): number {
    return fnv1a(id) % this.store.partitionCount;
  }
}
