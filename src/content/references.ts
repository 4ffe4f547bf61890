import { RefusedError } from '../client/errors.js';
import { type LockClient } from '../client/lock-client.js';
import { type RefCountManager } from '../refcount/ref-count-manager.js';
import { hexOf } from './digest.js';
import { ContentError } from './errors.js';
import { type ContentStore } from './store/content-store.js';

/**
 * Who uses which blob, and who counts. Either the server does, in the very step in which it grants, skips and releases
 * (`REFCOUNT_MODE=server`); or this side does (`REFCOUNT_MODE=client`). Nothing but `release` ever takes a reference back: after
 * a failure there may be one too many, which keeps a blob too long and loses nothing.
 */
export interface References {
  /** Counts this node in. False: a delete may be under way, so that a blob which is there may be gone the next moment. */
  add(digest: string): Promise<boolean>;
  /** After the server said that others have done the work. */
  addSkipped(digest: string): Promise<boolean>;
  /** After the work under the pull lock, before it is released. */
  addUnderLock(digest: string): Promise<void>;
  release(digest: string): Promise<void>;
  /** Whether this node is counted. */
  has(digest: string): Promise<boolean>;
  count(digest: string): Promise<number>;
  /** Under the delete lock: throws `IN_USE`, or nobody is counted in until `endDelete`. */
  beginDelete(digest: string, token: number): Promise<void>;
  endDelete(digest: string, token: number): Promise<void>;
}

/** The server counts: a pull that is skipped or succeeds, and nobody while a delete is held. */
export class ServerReferences implements References {
  constructor(private readonly client: LockClient) {}

  async add(digest: string): Promise<boolean> {
    try {
      await this.client.refs.add(digest);
      return true;
    } catch (error) {
      if (error instanceof RefusedError && error.code === 'LOCK_HELD') return false;
      throw error;
    }
  }

  async addSkipped(): Promise<boolean> {
    return true;
  }

  async addUnderLock(): Promise<void> {}

  async release(digest: string): Promise<void> {
    await this.client.refs.release(digest);
  }

  async has(digest: string): Promise<boolean> {
    const { nodes } = await this.client.refs.get(digest);
    return nodes.some(({ nodeId }) => nodeId === this.client.nodeId);
  }

  async count(digest: string): Promise<number> {
    return (await this.client.refs.get(digest)).count;
  }

  async beginDelete(): Promise<void> {}

  async endDelete(): Promise<void> {}
}

/**
 * This side counts. Whoever counts itself in looks afterwards whether a delete has been announced; a delete announces itself and
 * counts afterwards: of two that do so at once at least one sees the other, and goes by the lock or gives up.
 */
export class OwnReferences implements References {
  constructor(
    private readonly manager: RefCountManager,
    private readonly nodeId: string,
    private readonly store: ContentStore,
  ) {}

  async add(digest: string): Promise<boolean> {
    await this.addUnderLock(digest);
    return !(await this.store.deleting.isSet(hexOf(digest)));
  }

  addSkipped(digest: string): Promise<boolean> {
    return this.add(digest);
  }

  async addUnderLock(digest: string): Promise<void> {
    await this.manager.updateRefCount('pull', digest, { nodeId: this.nodeId, success: true });
  }

  async release(digest: string): Promise<void> {
    await this.manager.releaseRef(digest, this.nodeId);
  }

  async has(digest: string): Promise<boolean> {
    const { nodes } = await this.manager.getRefCount(digest);
    return nodes.some(({ nodeId }) => nodeId === this.nodeId);
  }

  async count(digest: string): Promise<number> {
    return (await this.manager.getRefCount(digest)).count;
  }

  async beginDelete(digest: string, token: number): Promise<void> {
    await this.store.deleting.set(hexOf(digest), token);
    const { allowed, reason } = await this.manager.canPerformOperation('delete', digest);
    if (!allowed) throw new ContentError('IN_USE', `${digest} is ${reason}.`);
  }

  async endDelete(digest: string, token: number): Promise<void> {
    await this.store.deleting.clear(hexOf(digest), token);
  }
}
