import { Inject, Injectable } from '@nestjs/common';
import { fnv1a } from '../core/fnv1a.js';
import {
  type Change,
  type Item,
  STATE_STORE,
  type StateStore,
  type Write,
} from '../stores/state-store.interface.js';
import { StoreError } from '../stores/store.error.js';
import { CombinedReads } from './combined-reads.js';

export interface SessionContent {
  readonly id: string;
  readonly nodeId: string;
  readonly ttlMs: number;
  /** Where it is renewed; empty over an embedded store. */
  readonly instanceId: string;
  /** How often it has moved from one instance to another. */
  readonly attachment: number;
  /** It is over; what it holds and waits for is being given up. */
  readonly ended: boolean;
  /** It was ended by its process, in due form. */
  readonly closed: boolean;
}

export interface SessionRecord extends SessionContent {
  readonly revision: number;
}

const PREFIX = 's/';
const FORMAT_VERSION = 1;

interface StoredSession {
  readonly v: number;
  readonly n: string;
  readonly t: number;
  readonly i?: string | undefined;
  readonly a?: number | undefined;
  readonly e?: 1 | undefined;
  readonly c?: 1 | undefined;
}

/** Sessions in the store: written when made, moved and ended, not at each renewal. */
@Injectable()
export class SessionRecords {
  private readonly reads: CombinedReads;

  constructor(@Inject(STATE_STORE) private readonly store: StateStore) {
    this.reads = new CombinedReads(store);
  }

  /** Which session has changed, if it is one. */
  idOf({ key }: Change): string | undefined {
    return key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined;
  }

  /** Rejects what another version wrote. */
  decode({ key, value, revision }: Item): SessionRecord {
    const { v, n, t, i = '', a = 0, e, c } = JSON.parse(value) as StoredSession;
    if (v !== FORMAT_VERSION) throw unreadable(v);
    const id = key.slice(PREFIX.length);
    const [ended, closed] = [e === 1, c === 1];
    return { id, nodeId: n, ttlMs: t, instanceId: i, attachment: a, ended, closed, revision };
  }

  async read(id: string): Promise<SessionRecord | undefined> {
    const item = await this.reads.get(this.partitionOf(id), PREFIX + id);
    return item && this.decode(item);
  }

  /** `undefined`: there is one of this name already. */
  create(content: SessionContent): Promise<SessionRecord | undefined> {
    return this.put(content, 'absent');
  }

  /** `undefined`: the record is no longer the one that was seen. */
  replace(seen: SessionRecord, content: SessionContent): Promise<SessionRecord | undefined> {
    return this.put(content, seen.revision);
  }

  /** A record that is gone, or has changed since it was seen, is left as it is. */
  async delete({ id, revision }: SessionRecord): Promise<void> {
    await this.write(id, { key: PREFIX + id, expect: revision, delete: true });
  }

  private async put(content: SessionContent, expect: number | 'absent'): Promise<SessionRecord | undefined> {
    const { id } = content;
    const revision = await this.write(id, { key: PREFIX + id, expect, put: encode(content) });
    return revision === undefined ? undefined : { ...content, revision };
  }

  private async write(id: string, write: Write): Promise<number | undefined> {
    const outcome = await this.store.commit(this.partitionOf(id), [write]);
    if (outcome.status === 'committed') return outcome.revision;
    if (outcome.status === 'conflict') return undefined;
    const message = 'the answer of the store was lost: try again';
    throw new StoreError('STORE_UNAVAILABLE', 'commit', message, outcome.cause);
  }

  partitionOf(id: string): number {
    return fnv1a(id) % this.store.partitionCount;
  }
}

function encode({ nodeId, ttlMs, instanceId, attachment, ended, closed }: SessionContent): string {
  return JSON.stringify({
    v: FORMAT_VERSION,
    n: nodeId,
    t: ttlMs,
    i: instanceId || undefined,
    a: attachment || undefined,
    e: ended ? 1 : undefined,
    c: closed ? 1 : undefined,
  } satisfies StoredSession);
}

function unreadable(version: number): StoreError {
  const message = `a stored session has format ${version}; this version of Holdfast reads ${FORMAT_VERSION}`;
  return new StoreError('STORE_UNREADABLE', 'read', message);
}
