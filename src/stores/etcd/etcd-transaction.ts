import { CompareResult, CompareTarget, type ICompare, type IRequestOp, type ITxnRequest } from 'etcd3';
import { encodeExact } from '../exact-utf8.js';
import { type CommitOutcome, type Write } from '../state-store.interface.js';
import { StoreError } from '../store.error.js';
import { etcdError, wroteNothing } from './etcd-faults.js';
import { type EtcdKeys } from './etcd-keys.js';
import { assertUnchanged, isUnchanged, type Marker } from './etcd-marker.js';
import { type EtcdMembers } from './etcd-members.js';

/**
 * etcd takes 128 operations in a transaction by default, and in one inside another as many fewer as that has: this many commits
 * of this many writes are taken together, and a larger commit alone.
 */
const MOST_COMMITS = 64;
const MOST_WRITES_EACH = 32;

/** In UTF-16 units, of which each takes up to three bytes: far below the 1.5 MB of a request. */
const MOST_TEXT = 128 * 1024;

/** Revisions start at 1, so that no key is ever at this. */
const NO_REVISION = -1;

export interface EtcdState {
  readonly members: EtcdMembers;
  readonly keys: EtcdKeys;
  readonly marker: Marker;
}

interface AskedCommit {
  readonly writes: readonly Write[];
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Independent commits that travel as one transaction of etcd: one call, one sync of its disk, one revision for all of them.
 * Each is a transaction inside it, with its own conditions. No two may write one key.
 */
export class EtcdTransaction {
  private readonly commits: AskedCommit[] = [];
  private text = 0;

  constructor(private readonly state: EtcdState) {}

  takes(writes: readonly Write[]): boolean {
    const { commits } = this;
    if (commits.length === 0) return true;
    const isSmall = commits.length < MOST_COMMITS && this.text + textOf(writes) <= MOST_TEXT;
    return isSmall && Math.max(writes.length, commits[0]!.writes.length) <= MOST_WRITES_EACH;
  }

  add(writes: readonly Write[]): Promise<CommitOutcome> {
    this.text += textOf(writes);
    return new Promise((resolve, reject) => this.commits.push({ writes, resolve, reject }));
  }

  async send(): Promise<void> {
    const outcomes = await this.outcomes().catch((error: unknown) => error as Error);
    for (const [index, { resolve, reject }] of this.commits.entries()) {
      if (outcomes instanceof Error) reject(outcomes);
      else resolve(outcomes[index]!);
    }
  }

  /** Rejects when nothing was written. */
  private async outcomes(): Promise<CommitOutcome[]> {
    const { members, keys, marker } = this.state;
    const request = {
      compare: [isUnchanged(keys, marker)],
      success: this.commits.map(({ writes }) => ({ request_txn: this.transactionOf(writes) })),
      failure: [{ request_range: { key: keys.marker } }],
    };
    try {
      const { succeeded, responses, header } = await members.write((client, options) =>
        client.kv.txn(request, options),
      );
      if (!succeeded) assertUnchanged('commit', marker, responses[0]!.response_range.kvs[0]);
      const revision = Number(header.revision) + marker.base;
      return responses.map(({ response_txn }) =>
        response_txn.succeeded ? { status: 'committed', revision } : { status: 'conflict' },
      );
    } catch (error) {
      if (error instanceof StoreError || wroteNothing(error as Error)) throw etcdError('commit', error);
      return this.commits.map(() => ({ status: 'unknown', cause: error }));
    }
  }

  private transactionOf(writes: readonly Write[]): ITxnRequest {
    return {
      compare: writes.map((write) => this.expectationOf(write)),
      success: writes.map((write) => this.operationOf(write)),
    };
  }

  private expectationOf({ key, expect }: Write): ICompare {
    const { keys, marker } = this.state;
    const revision = expect === 'absent' ? 0 : expect > marker.base ? expect - marker.base : NO_REVISION;
    return {
      key: keys.of(key),
      target: CompareTarget.Mod,
      result: CompareResult.Equal,
      mod_revision: revision,
    };
  }

  private operationOf(write: Write): IRequestOp {
    const key = this.state.keys.of(write.key);
    if ('delete' in write) return { request_delete_range: { key } };
    return { request_put: { key, value: encodeExact(write.put.toString()) } };
  }
}

function textOf(writes: readonly Write[]): number {
  return writes.reduce((sum, write) => sum + write.key.length + ('put' in write ? write.put.length : 0), 0);
}
