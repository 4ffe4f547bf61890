import { type Clock } from '../common/clock.interface.js';
import { SystemClock } from '../common/system-clock.js';
import { referenceEffect, refusedWhenReferenced, skipsWhenReferenced } from '../core/reference-rules.js';
import { type RefCountStorage, type ReferenceCount } from './ref-count-storage.interface.js';
import { RefCountError } from './ref-count.error.js';
import { NO_REFERENCES, referenceCountOf } from './reference-count.js';
import { SerialByKey } from './serial-by-key.js';

/**
 * How many of a node's references are released at once: enough for a storage that combines writes to need only a few
 * for a whole node, too few to swamp one that opens a connection per call.
 */
const RELEASED_AT_ONCE = 256;

/**
 * Which nodes use which resource, and what that means for an operation. Plain class for programs that count for
 * themselves; on the server the lock manager counts.
 *
 * Promises: calls for one resource reach the storage one after another, so that no update is lost, while other
 * resources go on; a node counts once; every rejection is a `RefCountError`.
 *
 * Does not promise: exclusion. A decision may be out of date by the time it is read; hold the lock of the operation
 * around asking, doing and updating. Nor does it know of other writers: only a storage with `addNode` and `removeNode`
 * may be shared by several managers.
 */
export class RefCountManager {
  private readonly turns = new SerialByKey();
  private readonly updateRequiresNoRef: boolean;
  private readonly clock: Clock;

  constructor(
    private readonly storage: RefCountStorage,
    options: RefCountManagerOptions = {},
  ) {
    this.updateRequiresNoRef = options.updateRequiresNoRef ?? false;
    this.clock = options.clock ?? new SystemClock();
  }

  async shouldSkipOperation(type: string, resourceId: string): Promise<SkipDecision> {
    const skip = skipsWhenReferenced(type) && (await this.getRefCount(resourceId)).count > 0;
    return { skip, reason: skip ? 'resource already present' : '' };
  }

  async canPerformOperation(type: string, resourceId: string): Promise<PermissionDecision> {
    if (!refusedWhenReferenced(type, this.updateRequiresNoRef)) return { allowed: true, reason: '' };
    const { count } = await this.getRefCount(resourceId);
    if (count === 0) return { allowed: true, reason: '' };
    return { allowed: false, reason: `in use by ${count} ${count === 1 ? 'node' : 'nodes'}` };
  }

  /** Counts what an operation did. A failed one did nothing. */
  async updateRefCount(type: string, resourceId: string, result: OperationResult): Promise<void> {
    const effect = referenceEffect(type);
    if (!result.success || effect === 'none') return;
    await this.inTurn('updateRefCount', resourceId, () =>
      effect === 'add-node' ? this.add(resourceId, result.nodeId) : this.storage.deleteRefCount(resourceId),
    );
  }

  /** Count 0 when nobody refers to the resource. */
  async getRefCount(resourceId: string): Promise<ReferenceCount> {
    return this.inTurn('getRefCount', resourceId, () => this.read(resourceId));
  }

  /** The node no longer uses the resource. Tells whether it did. */
  async releaseRef(resourceId: string, nodeId: string): Promise<boolean> {
    return this.inTurn('releaseRef', resourceId, () => this.remove(resourceId, nodeId));
  }

  /**
   * The node uses nothing any more. Tells which resources it used. Not one step: after a rejection some may be
   * released and others not, and calling again finishes the work.
   */
  async releaseNodeRefs(nodeId: string): Promise<string[]> {
    const released: string[] = [];
    const resourceIds = await this.resourcesOf(nodeId);
    for (let start = 0; start < resourceIds.length; start += RELEASED_AT_ONCE) {
      released.push(...(await this.releaseEach(nodeId, resourceIds.slice(start, start + RELEASED_AT_ONCE))));
    }
    return released;
  }

  private async resourcesOf(nodeId: string): Promise<readonly string[]> {
    if (!this.storage.listByNode) {
      throw new RefCountError(
        'REFCOUNT_UNSUPPORTED',
        'releaseNodeRefs',
        'This reference-count storage cannot list by node (it has no listByNode); release the resources one by one.',
      );
    }
    try {
      return await this.storage.listByNode(nodeId);
    } catch (cause) {
      throw RefCountError.from('releaseNodeRefs', cause);
    }
  }

  /** Waits for all even if one fails, so that nothing goes on behind a rejected promise. */
  private async releaseEach(nodeId: string, resourceIds: readonly string[]): Promise<string[]> {
    const outcomes = await Promise.allSettled(
      resourceIds.map((resourceId) => this.releaseRef(resourceId, nodeId)),
    );
    return resourceIds.filter((_, at) => {
      const outcome = outcomes[at];
      if (outcome?.status === 'rejected') throw outcome.reason;
      return outcome?.value;
    });
  }

  private async inTurn<Result>(
    operation: string,
    resourceId: string,
    task: () => Promise<Result>,
  ): Promise<Result> {
    try {
      return await this.turns.run(resourceId, task);
    } catch (cause) {
      throw RefCountError.from(operation, cause);
    }
  }

  private async read(resourceId: string): Promise<ReferenceCount> {
    const stored = await this.storage.getRefCount(resourceId);
    return stored ? { count: stored.nodes.length, nodes: stored.nodes } : NO_REFERENCES;
  }

  private async add(resourceId: string, nodeId: string): Promise<void> {
    const added = { nodeId, sinceMs: this.clock.wallMs() };
    if (this.storage.addNode) return this.storage.addNode(resourceId, added);
    const { nodes } = await this.read(resourceId);
    if (nodes.some((node) => node.nodeId === nodeId)) return;
    await this.storage.setRefCount(resourceId, referenceCountOf([...nodes, added]));
  }

  private async remove(resourceId: string, nodeId: string): Promise<boolean> {
    if (this.storage.removeNode) return this.storage.removeNode(resourceId, nodeId);
    const { nodes } = await this.read(resourceId);
    const others = nodes.filter((node) => node.nodeId !== nodeId);
    if (others.length === nodes.length) return false;
    if (others.length > 0) await this.storage.setRefCount(resourceId, referenceCountOf(others));
    else await this.storage.deleteRefCount(resourceId);
    return true;
  }
}

export interface RefCountManagerOptions {
  /** Whether an `update` is refused while anybody refers to the resource. Default false. */
  readonly updateRequiresNoRef?: boolean | undefined;
  /** Stamps new references. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

export interface SkipDecision {
  readonly skip: boolean;
  /** Empty unless skipped. */
  readonly reason: string;
}

export interface PermissionDecision {
  readonly allowed: boolean;
  /** Empty if allowed. */
  readonly reason: string;
}

/** How an operation ended. `success` decides; `error` is for people. */
export interface OperationResult {
  readonly nodeId: string;
  readonly success: boolean;
  readonly error?: string | undefined;
}
