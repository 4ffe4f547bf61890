import { HoldfastError } from '../../client/index.js';
import { ContentError, type ContentNode } from '../../content/index.js';

/** containerd collects garbage under a lock that its pulls need: a blob another node is busy with is left for the next time. */
const DELETE_WAIT_MS = 1000;

/** Of bytes that one user less has. */
export const FATE = {
  gone: 'are gone already',
  removed: 'are removed',
  used: 'stay, others use them',
  busy: 'are another node’s just now: it is asked for again',
} as const;

/** If nobody uses them any more. */
export async function removeBytes(node: ContentNode, digest: string): Promise<keyof typeof FATE> {
  if (!(await node.store.info(digest))) return 'gone';
  try {
    await node.delete(digest, { waitMs: DELETE_WAIT_MS });
    return 'removed';
  } catch (error) {
    if (error instanceof ContentError && error.code === 'IN_USE') return 'used';
    if (error instanceof ContentError && error.code === 'STALE') return 'busy';
    if (error instanceof HoldfastError && error.code === 'WAIT_TIMEOUT') return 'busy';
    throw error;
  }
}
