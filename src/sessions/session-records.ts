import { Inject, Injectable } from '@nestjs/common';
import { fnv1a } from '../core/fnv1a.js';
import { STATE_STORE, type StateStore, type Write } from '../stores/state-store.interface.js';
import { StoreError } from '../stores/store.error.js';

export interface SessionRecord {
  readonly id: string;
  readonly nodeId: string;
  readonly ttlMs: number;
  readonly revision: number;
}

const PREFIX = 's/';
const FORMAT_VERSION = 1;

interface StoredSession {
  readonly v: number;
  readonly n: string;
  readonly t: number;
}

/** Sessions in the store: written when made and when ended, not at each renewal. */
@Injectable()
export class SessionRecords {
  constructor(@Inject(STATE_STORE) private readonly store: StateStore) {}

  async create(id: string, nodeId: string, ttlMs: number): Promise<SessionRecord> {
    const text = JSON.stringify({ v: FORMAT_VERSION, n: nodeId, t: ttlMs } satisfies StoredSession);
    await this.write({ key: PREFIX + id, expect: 'absent', put: text }, id);
    const revision = await this.revisionOf(id);
    return { id, nodeId, ttlMs, revision };
  }

  /** Idempotent: a record that is gone is as deleted as can be. */
  async delete(id: string): Promise<void> {
    const revision = await this.revisionOf(id);
    if (revision > 0) await this.write({ key: PREFIX + id, expect: revision, delete: true }, id);
  }

  async all(): Promise<SessionRecord[]> {
    const sessions: SessionRecord[] = [];
    for (let partition = 0; partition < this.store.partitionCount; partition++) {
      const { pages } = await this.store.list(partition, PREFIX);
      for await (const page of pages) {
        for (const { key, value, revision } of page) {
          const { v, n: nodeId, t: ttlMs } = JSON.parse(value) as StoredSession;
          if (v !== FORMAT_VERSION) throw unreadable(v);
          sessions.push({ id: key.slice(PREFIX.length), nodeId, ttlMs, revision });
        }
      }
    }
    return sessions;
  }

  private async write(write: Write, id: string): Promise<void> {
    const outcome = await this.store.commit(this.partitionOf(id), [write]);
    if (outcome.status === 'unknown') {
      throw new StoreError(
        'STORE_UNAVAILABLE',
        'commit',
        'the answer of the store was lost: try again',
        outcome.cause,
      );
    }
  }

  private async revisionOf(id: string): Promise<number> {
    const [item] = await this.store.get(this.partitionOf(id), [PREFIX + id]);
    return item?.revision ?? 0;
  }

  private partitionOf(id: string): number {
    return fnv1a(id) % this.store.partitionCount;
  }
}

function unreadable(version: number): StoreError {
  const message = `a stored session has format ${version}; this version of Holdfast reads ${FORMAT_VERSION}`;
  return new StoreError('STORE_UNREADABLE', 'read', message);
}
