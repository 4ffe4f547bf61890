import { randomUUID } from 'node:crypto';
import { HoldfastError, HoldLostError, RefusedError } from '../client/errors.js';
import { type Hold } from '../client/hold.js';
import { type LockClient } from '../client/lock-client.js';
import { type LockOptions, type LockRequest, type LockResult } from '../client/requests.js';
import { failureOf } from '../client/run-once.js';
import { hexOf } from './digest.js';
import { ContentError } from './errors.js';
import { type ContentStore } from './store/content-store.js';

/** The locks of blobs, and the fence: whether a hold still is the last word on its blob. */
export class ContentLocks {
  constructor(
    private readonly client: LockClient,
    private readonly store: ContentStore,
    /** Whether the server is to count references. */
    private readonly isServerCounting: boolean,
  ) {}

  /** Granted or skipped; throws otherwise. */
  async ask(request: LockRequest, options: LockOptions): Promise<LockResult> {
    const result = await this.client.lock(request, options);
    if (result.hold) await this.assertCounted(result.hold, result.referenceCount !== null);
    if (!result.error) return result;
    const { error } = result;
    if (!(error instanceof RefusedError) || error.code !== 'RESOURCE_IN_USE') throw error;
    throw new ContentError('IN_USE', `${request.resourceId} is in use: ${error.message}`, error);
  }

  /** Counted by nobody, bytes in use would be deleted; counted by both, nothing ever could be. */
  private async assertCounted(hold: Hold, isCounting: boolean): Promise<void> {
    if (isCounting === this.isServerCounting) return;
    const error = new ContentError(
      'WRONG_COUNTING',
      isCounting
        ? 'The server counts references: give ContentNode no `refs`, or set REFCOUNT_MODE=client.'
        : 'The server counts no references (REFCOUNT_MODE=client): give ContentNode a RefCountManager as `refs`.',
    );
    await this.fail(hold, error);
    throw error;
  }

  /** Throws `WRONG_ISOLATION` or `WRONG_COUNTING`: told by a lock that means nothing, before there is anything to delete. */
  async assertMayDelete(options: LockOptions): Promise<void> {
    const request = { type: 'check', resourceId: `content-store-check-${randomUUID()}` };
    const { hold, isolation } = await this.ask(request, options);
    if (hold) await this.succeed(hold);
    assertIsolating(isolation);
  }

  /** From now on no earlier holder publishes or removes this blob. On disk before it resolves. */
  async enter(hold: Hold): Promise<void> {
    const hex = hexOf(hold.resourceId);
    try {
      await this.store.tokens.mark(hex, hold.token);
      await this.store.deleting.clearBelow(hex, hold.token);
    } catch (cause) {
      throw ContentError.from(`marking token ${hold.token} of ${hold.resourceId}`, cause);
    }
  }

  /** Throws `STALE` unless this process, the store and the server all know of no later holder. */
  async assertCurrent(hold: Hold): Promise<void> {
    if (hold.isLost) throw stale(hold, hold.signal.reason);
    const highest = await this.highest(hold);
    if (highest > hold.token) throw stale(hold, new Error(`token ${highest} has been here`));
    const { holder } = await this.client.status(hold);
    if (holder?.token !== hold.token) throw stale(hold, new Error('the server does not know it any more'));
    if (hold.isLost) throw stale(hold, hold.signal.reason);
  }

  private async highest({ resourceId }: Hold): Promise<number> {
    try {
      return await this.store.tokens.highest(hexOf(resourceId));
    } catch (cause) {
      throw ContentError.from(`reading the tokens of ${resourceId}`, cause);
    }
  }

  async succeed(hold: Hold): Promise<void> {
    try {
      await this.client.unlock(hold, { success: true });
    } catch (error) {
      throw error instanceof HoldLostError ? stale(hold, error) : error;
    }
  }

  /** So that the next in line takes over, or nobody if the failure is fatal. What cannot be said now the client sees to. */
  async fail(hold: Hold, error: unknown): Promise<void> {
    if (hold.isLost) return;
    try {
      await this.client.unlock(hold, failureOf(error));
    } catch (unsaid) {
      if (!(unsaid instanceof HoldfastError)) throw unsaid;
    }
  }
}

export function assertIsolating(isolation: string | undefined): void {
  if (isolation === 'resource') return;
  throw new ContentError(
    'WRONG_ISOLATION',
    `The server isolates by ${isolation ?? 'nothing'}: a pull may run beside this delete. Set LOCK_ISOLATION=resource.`,
  );
}

export function stale({ type, resourceId, token }: Hold, cause: unknown): ContentError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ContentError(
    'STALE',
    `The ${type} of ${resourceId} (token ${token}) was overtaken: ${why}`,
    cause,
  );
}
