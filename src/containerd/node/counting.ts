import { type Clock, pause } from '../../client/clock.js';
import { RefusedError } from '../../client/index.js';
import { CODE, RpcError } from '../grpc/rpc-error.js';
import { type Markers } from './markers.js';
import { PROMPT_MS } from './promptly.js';
import { isUnreachable, type ServerLink } from './server-link.js';

/** A delete that is held when a node wants to be counted is over in milliseconds; that of a holder that died, with its session. */
const COUNT_TRIES = 300;
const COUNT_PAUSE_MS = 100;

/** The server may be well, and may have done it: it was not waited for any longer. */
class NotInTimeError extends RpcError {
  constructor() {
    super(CODE.unavailable, `Holdfast has not answered within ${PROMPT_MS} ms: try again later.`);
  }
}

export interface CountingParts {
  readonly link: ServerLink;
  readonly markers: Markers;
  readonly whenUnreachable: 'proceed' | 'fail';
  readonly clock: Clock;
}

/** How this node becomes a user of a blob: the server counts it, or its marker speaks for it until the server can. */
export class Counting {
  constructor(private readonly parts: CountingParts) {}

  /** Waits while the blob is being deleted, and for a server that is being restarted. False: it is marked. */
  async count(digest: string): Promise<boolean> {
    const { link, markers } = this.parts;
    try {
      await link.call(() => this.addPatiently(digest));
      await markers.clear(digest);
      return true;
    } catch (error) {
      if (!this.mayProceed(error)) throw error;
      await markers.set(digest);
      return false;
    }
  }

  /**
   * As `count`, and waits for nobody. A marker is enough also while another deletes the blob: that one looks for markers when it has
   * moved the bytes aside, and bytes that get the name after that are not its.
   */
  async countPromptly(digest: string): Promise<boolean> {
    const { link, markers, whenUnreachable } = this.parts;
    try {
      await link.call(() => this.addPromptly(digest));
      await markers.clear(digest);
      return true;
    } catch (error) {
      const isLate = error instanceof NotInTimeError && whenUnreachable === 'proceed';
      if (!isLate && !isBeingDeleted(error) && !this.mayProceed(error)) throw error;
      await markers.set(digest);
      return false;
    }
  }

  /** Whether a pull goes on although this went wrong. */
  mayProceed(error: unknown): boolean {
    return this.parts.whenUnreachable === 'proceed' && isUnreachable(error);
  }

  private async addPatiently(digest: string): Promise<void> {
    const never = new AbortController().signal;
    for (let tries = 0; tries < COUNT_TRIES; tries++) {
      try {
        await this.parts.link.client.refs.add(digest);
        return;
      } catch (error) {
        if (!isBeingDeleted(error)) throw error;
      }
      await pause(this.parts.clock, COUNT_PAUSE_MS, never);
    }
    throw new RpcError(CODE.unavailable, `${digest} is being deleted: try again.`);
  }

  /** No try is left under way, which could count this node after it has left the blob. */
  private async addPromptly(digest: string): Promise<void> {
    const { clock, link } = this.parts;
    const end = new AbortController();
    const cancel = clock.after(PROMPT_MS, () => end.abort(new NotInTimeError()), true);
    try {
      await link.client.refs.add(digest, undefined, end.signal);
    } finally {
      cancel();
    }
  }
}

function isBeingDeleted(error: unknown): boolean {
  return error instanceof RefusedError && error.code === 'LOCK_HELD';
}
