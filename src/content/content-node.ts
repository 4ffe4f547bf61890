import { type Hold } from '../client/hold.js';
import { type LockClient } from '../client/lock-client.js';
import { type LockOptions } from '../client/requests.js';
import { type RefCountManager } from '../refcount/ref-count-manager.js';
import { ContentLocks } from './content-locks.js';
import { ContentWriter } from './content-writer.js';
import { hexOf } from './digest.js';
import { ContentError } from './errors.js';
import { OwnReferences, type References, ServerReferences } from './references.js';
import { Remover, type SweepOptions, type SweepResult } from './remover.js';
import { type ContentStore } from './store/content-store.js';
import { type Ingest } from './store/ingest.js';

export interface ContentNodeOptions {
  readonly store: ContentStore;
  /** Its `nodeId` is this node. */
  readonly client: LockClient;
  /** Only with `REFCOUNT_MODE=client`: where this side counts. Default: the server counts. */
  readonly refs?: RefCountManager | undefined;
  /** Whether somebody uses a blob whom nobody counts yet. A delete asks when the blob is out of sight already, and puts it back. */
  readonly isMarked?: ((digest: string) => Promise<boolean>) | undefined;
}

export interface OpenOptions extends LockOptions {
  /** Default `pull`. `update` fetches what is there anew, in its place: to repair it. */
  readonly type?: 'pull' | 'update' | undefined;
}

export type Opened =
  /** It is there, and after a pull this node is counted as its user. */
  | { readonly skipped: true; readonly writer?: undefined }
  /** It is this node's to write. */
  | { readonly skipped: false; readonly writer: ContentWriter };

/** The server said so often that the bytes are there, and they were not: it and the store are not about the same thing. */
const MAX_EMPTY_SKIPS = 8;

/**
 * One node's hands on a store that many share.
 *
 * The invariant: **a node that was told "there" or whose commit resolved finds its bytes until it releases them**, whoever crashes
 * at whatever step. It rests on these orders:
 *
 * 1. A blob is synced and named before success is reported; success (or a skip) counts the node in the server's own step. Where this side
 *    counts, it counts before it reports.
 * 2. Who finds a blob without the lock counts itself in *first* and looks *again*. Nobody is counted in while a delete is held.
 * 3. Bytes are removed only under the delete lock, which excludes every other operation (`isolation: resource`) and is refused
 *    while anybody is counted.
 * 4. A holder that was overtaken may have moved a blob to the trash, but removes it only after asking once more, and otherwise
 *    puts it back; meanwhile readers find it there. A later holder that finds it there puts it back too.
 * 5. Only what has its name counts as there; being in the trash does not.
 */
export class ContentNode {
  readonly store: ContentStore;
  readonly nodeId: string;
  private readonly refs: References;
  private readonly locks: ContentLocks;
  private readonly remover: Remover;

  constructor({ store, client, refs, isMarked = async () => false }: ContentNodeOptions) {
    this.store = store;
    this.nodeId = client.nodeId;
    this.refs = refs ? new OwnReferences(refs, client.nodeId, store) : new ServerReferences(client);
    this.locks = new ContentLocks(client, store, refs === undefined);
    this.remover = new Remover(store, this.locks, this.refs, client, isMarked);
  }

  /**
   * Skipped if the blob is there (no lock is asked for then) or another node has brought it meanwhile; else a writer that holds
   * the lock. Waits while another node writes it. Aborting the signal also closes the writer.
   *
   * Without a digest, nothing is locked until `commit` knows what the bytes are.
   */
  async openWriter(
    ref: string,
    digest: string | undefined,
    total?: number,
    options: OpenOptions = {},
  ): Promise<Opened> {
    const about = { ref, nodeId: this.nodeId, digest, total };
    if (digest === undefined) {
      const ingest = await this.store.begin({ ...about, token: 0 });
      return { skipped: false, writer: this.writerOf(ingest, undefined, options) };
    }
    const hold = await this.lock(digest, options);
    if (!hold) return { skipped: true };
    try {
      const ingest = await this.store.begin({ ...about, token: hold.token });
      return { skipped: false, writer: this.writerOf(ingest, hold, options) };
    } catch (error) {
      await this.locks.fail(hold, error);
      throw error;
    }
  }

  /**
   * `openWriter`, `fill` and `commit`; what `fill` throws is reported as failure and thrown again. An earlier try may have left
   * all the bytes: then there is nothing to fill. As many but others are of no use, and a source has nothing to add to them.
   */
  async pull(
    ref: string,
    digest: string,
    total: number | undefined,
    fill: (writer: ContentWriter) => Promise<void>,
    options: OpenOptions = {},
  ): Promise<{ readonly skipped: boolean }> {
    const { writer } = await this.openWriter(ref, digest, total, options);
    if (!writer) return { skipped: true };
    try {
      if (writer.digest !== digest) {
        if (writer.offset === total) await writer.restart();
        await fill(writer);
      }
      await writer.commit();
      return { skipped: false };
    } catch (error) {
      await writer.close(error);
      throw error;
    }
  }

  /** Counts this node in if the blob is there. */
  async use(digest: string): Promise<boolean> {
    return (await this.store.has(digest)) && (await this.refs.add(digest)) && (await this.store.has(digest));
  }

  /** Whether this node is counted as a user. */
  async uses(digest: string): Promise<boolean> {
    hexOf(digest);
    return this.refs.has(digest);
  }

  /** This node does not use the blob any more. The bytes stay until somebody deletes or sweeps. */
  async release(digest: string): Promise<void> {
    hexOf(digest);
    await this.refs.release(digest);
    this.store.forget(digest);
  }

  /** Removes a blob nobody uses. Throws `IN_USE` or `WRONG_ISOLATION`. False: there was none. */
  async delete(digest: string, options: LockOptions = {}): Promise<boolean> {
    hexOf(digest);
    return this.remover.delete(digest, options);
  }

  /** Removes every blob nobody uses, as far as nobody is busy with it, and what dead nodes have left. */
  sweep(options: SweepOptions = {}): Promise<SweepResult> {
    return this.remover.sweep(options);
  }

  /** The part of `sweep` that removes nothing but what writers of any node, gone since, have left on the way. Their refs. */
  removeLeftIngests(leftAfterMs?: number): Promise<string[]> {
    return this.remover.removeLeftIngests(leftAfterMs);
  }

  /** `undefined`: it is there, and this node is counted. */
  private async lock(
    digest: string,
    { type = 'pull', signal, waitMs }: OpenOptions,
  ): Promise<Hold | undefined> {
    hexOf(digest);
    if (type === 'pull' && (await this.use(digest))) return undefined;
    for (let emptySkips = 0; emptySkips < MAX_EMPTY_SKIPS; emptySkips++) {
      const absent = type === 'pull' && emptySkips > 0;
      const { hold } = await this.locks.ask({ type, resourceId: digest, absent }, { signal, waitMs });
      if (hold) return (await this.isThereAfterAll(hold)) ? undefined : hold;
      if (type === 'update') return undefined;
      if ((await this.refs.addSkipped(digest)) && (await this.store.has(digest))) return undefined;
    }
    const why = 'the server keeps saying that it is there; does it serve another store?';
    throw new ContentError('NOT_FOUND', `${digest} is not in the store, and ${why}`);
  }

  /** Somebody was faster, or an overtaken delete has left it in the trash: success, so that nobody else waits. */
  private async isThereAfterAll(hold: Hold): Promise<boolean> {
    const { type, resourceId: digest } = hold;
    try {
      await this.locks.enter(hold);
      if (type !== 'pull') return false;
      if (!(await this.store.has(digest)) && !(await this.remover.putBack(hold))) return false;
      await this.refs.addUnderLock(digest);
      await this.locks.succeed(hold);
      return true;
    } catch (error) {
      await this.locks.fail(hold, error);
      throw error;
    }
  }

  private writerOf(ingest: Ingest, hold: Hold | undefined, options: OpenOptions): ContentWriter {
    const ends = {
      publish: (finished: Ingest, held: Hold | undefined) =>
        held ? this.publish(finished, held) : this.publishLate(finished, options),
      fail: (held: Hold, error: unknown) => this.locks.fail(held, error),
    };
    return new ContentWriter(ingest, ends, hold, options.signal);
  }

  private async publish(ingest: Ingest, hold: Hold): Promise<void> {
    await this.store.publish(ingest, hold.type === 'update', () => this.locks.assertCurrent(hold));
    if (hold.type === 'pull') await this.refs.addUnderLock(hold.resourceId);
    await this.locks.succeed(hold);
  }

  /** A blob that got its name only now. */
  private async publishLate(ingest: Ingest, options: OpenOptions): Promise<void> {
    await ingest.finish();
    const hold = await this.lock(ingest.digest, { ...options, type: 'pull' });
    if (!hold) return ingest.remove();
    try {
      await this.publish(ingest, hold);
    } catch (error) {
      await this.locks.fail(hold, error);
      throw error;
    }
  }
}
