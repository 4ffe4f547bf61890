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
  ) {}

  /** Granted or skipped; throws otherwise. */
  async ask(request: LockRequest, options: LockOptions): Promise<LockResult> {
    const result = await this.client.lock(request, options);
    if (!result.error) return result;
    const { error } = result;
    if (!(error instanceof RefusedError) || error.code !== 'RESOURCE_IN_USE') throw error;
    throw new ContentError('IN_USE', `${request.resourceId} is in use: ${error.message}`, error);
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
    const highest = await this.store.tokens.highest(hexOf(hold.resourceId));
    if (highest > hold.token) throw stale(hold, new Error(`token ${highest} has been here`));
    const { holder } = await this.client.status(hold);
    if (holder?.token !== hold.token) throw stale(hold, new Error('the server does not know it any more'));
    if (hold.isLost) throw stale(hold, hold.signal.reason);
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

export function stale({ type, resourceId, token }: Hold, cause: unknown): ContentError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ContentError(
    'STALE',
    `The ${type} of ${resourceId} (token ${token}) was overtaken: ${why}`,
    cause,
  );
}
