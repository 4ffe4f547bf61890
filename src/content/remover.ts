import { HoldfastError } from '../client/errors.js';
import { type Hold } from '../client/hold.js';
import { type LockClient } from '../client/lock-client.js';
import { type LockOptions } from '../client/requests.js';
import { assertIsolating, type ContentLocks } from './content-locks.js';
import { digestOf, hexOf } from './digest.js';
import { ContentError } from './errors.js';
import { type References } from './references.js';
import { type ContentStore } from './store/content-store.js';
import { type StoredIngest } from './store/ingests.js';
import { type Marked } from './store/layout.js';

/** A writer that has written nothing for so long, and whose hold is over, will not come back. */
const LEFT_AFTER_MS = 60 * 60 * 1000;

/** A writer without a lock has no hold to be asked for: a day is longer than any upload. */
const LEFT_UNLOCKED_AFTER_MS = 24 * 60 * 60 * 1000;

export interface SweepOptions {
  readonly signal?: AbortSignal | undefined;
  /** How long nothing was written to an ingest before it may be removed. Default: an hour. */
  readonly leftAfterMs?: number | undefined;
}

export interface SweepResult {
  /** Digests whose bytes are gone. */
  readonly deleted: readonly string[];
  /** Digests found in the trash and in use. */
  readonly putBack: readonly string[];
  /** Refs of ingests that were removed. */
  readonly removedIngests: readonly string[];
}

/** Takes bytes out of the store, and puts them back if that was not right. */
export class Remover {
  constructor(
    private readonly store: ContentStore,
    private readonly locks: ContentLocks,
    private readonly refs: References,
    private readonly client: LockClient,
    private readonly isMarked: (digest: string) => Promise<boolean>,
  ) {}

  /** Out of sight, asked once more, gone: in this order. */
  async delete(digest: string, options: LockOptions): Promise<boolean> {
    const { hold, isolation } = await this.locks.ask({ type: 'delete', resourceId: digest }, options);
    if (!hold) return false;
    let wasThere: boolean;
    try {
      assertIsolating(isolation);
      await this.locks.enter(hold);
      wasThere = await this.removeUnder(hold);
    } catch (error) {
      await this.locks.fail(hold, error);
      throw error;
    }
    await this.locks.succeed(hold);
    return wasThere;
  }

  /** From where an overtaken delete has left it. Under a lock of the resource. */
  async putBack({ resourceId, token }: Hold): Promise<boolean> {
    const left = (await this.store.trash.find(hexOf(resourceId))).filter((marked) => marked.token < token);
    for (const marked of left) await this.store.trash.putBack(marked);
    return left.length > 0 && this.store.has(resourceId);
  }

  async sweep({ signal, leftAfterMs }: SweepOptions): Promise<SweepResult> {
    await this.locks.assertMayDelete({ signal });
    const removedIngests = await this.removeLeftIngests(leftAfterMs);
    const deleted: string[] = [];
    const putBack: string[] = [];
    for (const { hex } of await this.store.trash.find()) {
      const fate = await this.tryDelete(digestOf(hex), signal);
      if (fate === 'deleted') deleted.push(digestOf(hex));
      else if (fate === 'in use' && (await this.putBackUsed(hex))) putBack.push(digestOf(hex));
    }
    for await (const { digest } of this.store.list()) {
      signal?.throwIfAborted();
      if ((await this.refs.count(digest)) > 0) continue;
      if ((await this.tryDelete(digest, signal)) === 'deleted') deleted.push(digest);
    }
    return { deleted, putBack, removedIngests };
  }

  /** Their refs. */
  async removeLeftIngests(leftAfterMs = LEFT_AFTER_MS): Promise<string[]> {
    const now = await this.store.nowMs();
    const removed: string[] = [];
    for (const ingest of await this.store.leftIngests()) {
      if (!(await this.isLeft(ingest, now, leftAfterMs))) continue;
      await this.store.removeIngest(ingest);
      removed.push(ingest.about?.ref ?? '');
    }
    return removed;
  }

  private async removeUnder(hold: Hold): Promise<boolean> {
    const { resourceId: digest, token } = hold;
    const marked = { hex: hexOf(digest), token };
    try {
      await this.refs.beginDelete(digest, token);
      await this.locks.assertCurrent(hold);
      const isMoved = await this.store.moveToTrash(marked);
      await this.assertCurrentOr(hold, () => this.store.trash.putBack(marked));
      const left = await this.store.trash.find(marked.hex);
      for (const one of left) if (one.token <= token) await this.store.trash.empty(one);
      return isMoved || left.length > 0;
    } finally {
      await this.refs.endDelete(digest, token);
    }
  }

  private async assertCurrentOr(hold: Hold, undo: () => Promise<void>): Promise<void> {
    try {
      await this.locks.assertCurrent(hold);
      if (await this.isMarked(hold.resourceId))
        throw new ContentError(
          'IN_USE',
          `${hold.resourceId} is used by a node that could not be counted yet.`,
        );
    } catch (error) {
      await undo();
      throw error;
    }
  }

  /** Does not wait for anybody. */
  private async tryDelete(
    digest: string,
    signal: AbortSignal | undefined,
  ): Promise<'deleted' | 'in use' | 'busy'> {
    try {
      return (await this.delete(digest, { signal, waitMs: 0 })) ? 'deleted' : 'busy';
    } catch (error) {
      if (error instanceof ContentError && error.code === 'IN_USE') return 'in use';
      if (error instanceof HoldfastError || (error instanceof ContentError && error.code === 'STALE'))
        return 'busy';
      throw error;
    }
  }

  /** Whoever uses it cannot delete it: nobody is on the way to remove it but one who was overtaken. */
  private async putBackUsed(hex: string): Promise<boolean> {
    const left: Marked[] = await this.store.trash.find(hex);
    for (const marked of left) await this.store.trash.putBack(marked);
    return left.length > 0;
  }

  /** By age and by owner: the hold it was written under must be over. */
  private async isLeft(
    { about, updatedAtMs }: StoredIngest,
    now: number,
    leftAfterMs: number,
  ): Promise<boolean> {
    const ageMs = now - updatedAtMs;
    if (ageMs < leftAfterMs) return false;
    if (!about?.digest || about.token === 0) return ageMs >= Math.max(leftAfterMs, LEFT_UNLOCKED_AFTER_MS);
    const holds = await Promise.all(
      ['pull', 'update'].map((type) => this.client.status({ type, resourceId: about.digest! })),
    );
    return holds.every(({ holder }) => holder?.token !== about.token);
  }
}
